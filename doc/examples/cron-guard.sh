#!/bin/sh
# SPDX-License-Identifier: MIT
# A guard for a cron job: a run is skipped while the one before is at work.
#
# Use it when a job may take longer than the time between its runs.  When a job
# is killed, the next run starts; when all of it is stopped, the next run
# starts a minute later, and the gate refuses the late one's report.  Readers
# use the report with the largest number, which is always a whole one.
#
#	leasehold init --durable	# numbers grow over reboots, as the reports
#	*/5 * * * *  cron-guard.sh /srv/report timeout 1h make-report
set -eu
if ! leasehold held report; then
	# a second one ends here, without a mail: -E 0
	exec leasehold run -qn -E 0 --ttl 1m --scope local \
	    --info 'report, by cron' report -- "$0" "$@"
fi

late() {
	echo "$0: a later run has begun, so this report does not count" >&2
	exit 1
}

cd "$1"
shift
token=$LEASEHOLD_FENCE

# before the job reads anything: every earlier run is refused from now on
leasehold gate report.gate "$token" || late
trap 'rm -f "new.$token"' EXIT
"$@" >"new.$token"
mv "new.$token" "report.$token"
# no later run had begun when the report was in its place
leasehold gate report.gate "$token" || late

for report in report.[0-9]*; do
	[ "${report#report.}" -ge "$token" ] || rm -f "$report"
done
