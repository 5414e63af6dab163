-- The tables of ledger.sh: fence is the largest token that an account was shown.
CREATE TABLE account (
	name TEXT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL);
CREATE TABLE booking (
	id TEXT PRIMARY KEY, account TEXT NOT NULL, amount BIGINT NOT NULL);
