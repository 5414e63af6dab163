/* SPDX-License-Identifier: MIT */
/*
 * Prints the candidates for the word under the cursor, for the completion
 * scripts of bash, zsh and fish (tools/completion).
 *
 * Everything is read from the output of the verb's --help, so that no second
 * list of options can differ from it:
 *
 *	usage: leasehold session renew|destroy [OPTION...] [NAME]
 *	  -w, --wait TIME      wait at most that long ...
 *
 * Words in lower case are typed as they are.  A word in capitals stands for an
 * argument; `kinds` lists those that are known.
 *
 * Each candidate is printed on a line, followed by a tab and its meaning if it
 * is known.  A line ":files" or ":commands" asks the shell to complete file
 * names or commands.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/exit_status.h"
#include "complete.h"
#include "complete_live.h"
#include "key_list.h"
#include "open_table.h"
#include "other_user.h"
#include "output.h"

#define WORD_MAX 64
#define TOKENS_MAX 16

/* An option, as --help describes it. */
struct help_option {
	char letters[4];		/* "x", or "xe" for -x, -e */
	char name[WORD_MAX];		/* "--wait" */
	char value[WORD_MAX];		/* "TIME", or "" */
	char what[128];
};

/* The words before the cursor. */
struct typed {
	const char *verb;
	char *help;
	struct table_opts table;
	const char *args[TOKENS_MAX];	/* without options */
	size_t n;
	bool options_over;
	const char *value_of;		/* the option whose value is being
					 * typed */
	const char *value_kind;
};

/* The choices of options whose description has no form for them. */
static const struct {
	const char *option, *choices;
} choices[] = {
	{ "--scope", "ephemeral local quorum" },
	{ "--policy", "lease strict live" },
	{ "--on-loss", "kill warn" },
	{ "--on-ask", "say term" },
	{ "--order", "bounded fifo barge" },
	{ "--clock", "monotonic boottime" },
	{ "--sort", "waiters held grants key" },
	{ "--tokens", "key global" },
};

/* Copies a word up to a blank or one of `ends`. Returns the text behind it. */
static const char *
copy_word(char to[WORD_MAX], const char *p, const char *ends)
{
	size_t n = 0;

	for (; *p != '\0' && *p != '\n' && *p != ' ' && !strchr(ends, *p); p++)
		if (n < WORD_MAX - 1)
			to[n++] = *p;
	to[n] = '\0';
	return p;
}

/* Parses the line of an option. Returns false if the line is not one. */
static bool
read_option(const char *line, struct help_option *o)
{
	const char *p = line + strspn(line, " ");
	size_t n;

	memset(o, 0, sizeof(*o));
	if (p == line || *p != '-')
		return false;
	while (p[0] == '-' && p[1] != '-' && p[2] == ',') {
		n = strlen(o->letters);
		if (n < sizeof(o->letters) - 1)
			o->letters[n] = p[1];
		p += 3 + strspn(p + 3, " ");
	}
	if (strncmp(p, "--", 2) != 0)
		return false;
	p = copy_word(o->name, p, "");
	if (p[0] == ' ' && (isupper((unsigned char)p[1]) ||
	    strncmp(p + 1, "on|off", 6) == 0))
		p = copy_word(o->value, p + 1, "");
	p += strspn(p, " ");
	n = strcspn(p, "\n");
	(void)snprintf(o->what, sizeof(o->what), "%.*s", (int)n, p);
	return true;
}

static const char *
next_line(const char *p)
{
	p = strchr(p, '\n');
	return p == NULL || p[1] == '\0' ? NULL : p + 1;
}

/* Finds the option of a word: "--wait", "--wait=3", or the letter of "-w". */
static bool
find_option(const char *help, const char *word, struct help_option *o)
{
	size_t n = strcspn(word, "=");

	for (const char *p = help; p != NULL; p = next_line(p)) {
		if (!read_option(p, o))
			continue;
		if (word[1] == '-' ? strlen(o->name) == n &&
		    strncmp(o->name, word, n) == 0 :
		    strchr(o->letters, word[1]) != NULL)
			return true;
	}
	return false;
}

/* True if the next word is the value of this option. */
static bool
wants_value(const struct typed *t, const char *word, struct help_option *o)
{
	char letter[3] = "-";

	if (word[1] == '-')
		return strchr(word, '=') == NULL &&
		    find_option(t->help, word, o) && o->value[0] != '\0';
	for (word++; *word != '\0'; word++) {
		letter[1] = *word;
		if (find_option(t->help, letter, o) && o->value[0] != '\0')
			return word[1] == '\0';
	}
	return false;
}

static void
take_value(struct typed *t, const char *option, const char *value)
{
	char *end;
	unsigned long uid;

	if (strcmp(option, "--table") == 0)
		t->table.name = value;
	if (strcmp(option, "--uid") != 0)
		return;
	uid = strtoul(value, &end, 10);
	t->table.of_user = end != value && *end == '\0';
	t->table.uid = (uid_t)uid;
}

/* Reads all words but the last one, which is still being typed. */
static void
read_words(struct typed *t, int n, char **words, struct help_option *o)
{
	bool dashes = false;
	const char *w;

	for (int i = 0; i < n - 1; i++) {
		w = words[i];
		if (strcmp(w, "--") == 0 && !dashes) {
			t->options_over = dashes = true;
		} else if (t->options_over || w[0] != '-' || w[1] == '\0') {
			if (t->n < TOKENS_MAX)
				t->args[t->n++] = w;
			/* after the key of a run the command follows */
			t->options_over |= strcmp(t->verb, "run") == 0;
		} else if (wants_value(t, w, o)) {
			if (i + 1 == n - 1) {
				t->value_of = o->name;
				t->value_kind = o->value;
			} else {
				take_value(t, o->name, words[++i]);
			}
		} else if (strcmp(w, "--system") == 0) {
			t->table.system = true;
		} else if (strncmp(w, "--table=", 8) == 0) {
			take_value(t, "--table", w + 8);
		} else if (strncmp(w, "--uid=", 6) == 0) {
			take_value(t, "--uid", w + 6);
		}
	}
}

static void
offer(const char *word, const char *begun, const char *what)
{
	if (strncmp(word, begun, strlen(begun)) == 0)
		printf("%s%s%s\n", word, what != NULL && *what != '\0' ? "\t" :
		    "", what != NULL ? what : "");
}

/* Offers each word of a list that is divided by blanks or bars. */
static void
offer_all(const char *words, const char *begun)
{
	char word[WORD_MAX];

	while (*words != '\0') {
		words = copy_word(word, words, "|");
		offer(word, begun, NULL);
		words += *words != '\0';
	}
}

static void
offer_options(const char *help, const char *begun)
{
	struct help_option o;

	for (const char *p = help; p != NULL; p = next_line(p))
		if (read_option(p, &o))
			offer(o.name, begun, o.what);
}

/* Offers keys. In a list, completes the part behind its last comma. */
static void
offer_keys(const struct typed *t, const char *begun, bool in_list)
{
	size_t span, at = 0;
	char *before, *part, *rest;

	while (in_list && begun[at + (span = key_list_span(begun + at))] == ',')
		at += span + 1;
	before = strndup(begun, at);
	part = rest = strdup(begun + at);
	if (in_list && part != NULL && *part != '\0')
		part = key_list_next(&rest);
	if (before != NULL && part != NULL)
		complete_live_keys(&t->table, before, part, in_list);
	free(before);
	free(part);
}

/* Offers candidates for a word in capitals. */
static void
offer_kind(const struct typed *t, const char *kind, const char *begun)
{
	bool sessions = strcmp(t->verb, "session") == 0;

	if (strncmp(kind, "KEY", 3) == 0)
		offer_keys(t, begun, strncmp(kind, "KEY[", 4) == 0);
	else if (strcmp(kind, "SESSION") == 0 || strcmp(kind, "S") == 0 ||
	    (sessions && (strcmp(kind, "NAME") == 0 ||
	    strcmp(kind, "PREFIX") == 0)))
		complete_live_sessions(&t->table, begun);
	else if (strcmp(kind, "PREFIX") == 0)
		offer_keys(t, begun, false);
	else if (strcmp(kind, "FILE") == 0 || strcmp(kind, "DIR") == 0 ||
	    strcmp(kind, "ARGUMENT...") == 0)
		printf(":files\n");
	else if (strcmp(kind, "COMMAND") == 0)
		printf(":commands\n");
	else if (islower((unsigned char)kind[0]))
		offer_all(kind, begun);
}

static void
offer_value(const struct typed *t, const char *begun)
{
	if (strcmp(t->value_of, "--table") == 0) {
		complete_live_tables(&t->table, begun);
		return;
	}
	if (strcmp(t->value_of, "--uid") == 0) {
		complete_live_users(begun);
		return;
	}
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (strcmp(t->value_of, choices[i].option) == 0) {
			offer_all(choices[i].choices, begun);
			return;
		}
	}
	offer_kind(t, t->value_kind, begun);
}

/* Splits the part of a usage line behind the verb into its arguments, without
 * options and their values. */
static size_t
split_usage(const char *p, char token[TOKENS_MAX][WORD_MAX])
{
	bool after_option = false;
	char word[WORD_MAX];
	size_t n = 0, len;

	while (*p != '\0' && *p != '\n' && n < TOKENS_MAX) {
		p += strspn(p, " ");
		p += *p == '[';
		p = copy_word(word, p, "");
		len = strlen(word);
		if (len > 0 && word[len - 1] == ']' && !strchr(word, '['))
			word[--len] = '\0';
		if (len == 0)
			continue;
		if (word[0] == '-') {
			/* "-s|-x" and "--" have no value */
			after_option = !strchr(word, '|') && word[2] != '\0';
			continue;
		}
		if (strcmp(word, "OPTION...") != 0 && !after_option)
			memcpy(token[n++], word, sizeof(word));
		after_option = false;
	}
	return n;
}

/* True if a word matches that place of a usage line. */
static bool
can_stand_for(const char *word, const char *token)
{
	size_t len = strlen(word);

	if (!islower((unsigned char)token[0]))
		return true;
	for (; *token != '\0'; token += strcspn(token, "|"),
	    token += *token == '|')
		if (strncmp(token, word, len) == 0 &&
		    (token[len] == '|' || token[len] == '\0'))
			return true;
	return false;
}

/* Offers candidates for the word that is being typed, from each usage line that
 * matches the words before it. */
static void
offer_argument(const struct typed *t, const char *begun)
{
	static const char lead[] = "leasehold ";
	char token[TOKENS_MAX][WORD_MAX], seen[WORD_MAX] = "";
	const char *usage;
	size_t n, i, at;
	bool fits;

	for (const char *p = t->help; p != NULL; p = next_line(p)) {
		usage = p + strspn(p, " ");
		if (strncmp(p, "usage: ", 7) == 0)
			usage = p + 7;
		else if (usage == p)
			break;		/* the usage lines end here */
		if (strncmp(usage, lead, strlen(lead)) != 0)
			continue;
		n = split_usage(usage + strlen(lead) + strlen(t->verb), token);
		/* what follows a command belongs to it */
		at = n > 0 && t->n >= n &&
		    strcmp(token[n - 1], "ARGUMENT...") == 0 ? n - 1 : t->n;
		fits = at < n;
		for (i = 0; fits && i < at; i++)
			fits = can_stand_for(t->args[i], token[i]);
		if (!fits || strcmp(token[at], seen) == 0)
			continue;
		memcpy(seen, token[at], sizeof(seen));
		offer_kind(t, token[at], begun);
	}
}

static void
offer_verbs(const struct complete_verbs *verbs, const char *begun)
{
	const char *name, *what;

	for (size_t i = 0; (name = verbs->name(i, &what)) != NULL; i++)
		offer(name, begun, what);
	offer("help", begun, "print a verb's options");
}

int
complete_words(const struct complete_verbs *verbs, int n, char **words)
{
	bool sem_run = n > 2 && strcmp(words[0], "sem") == 0 &&
	    strcmp(words[1], "run") == 0;	/* it has the options of run */
	const char *begun = n > 0 ? words[n - 1] : "";
	struct help_option o;
	struct typed t;

	if (n < 2 || (n == 2 && strcmp(words[0], "help") == 0)) {
		offer_verbs(verbs, begun);
		return output_flush(EX_YES);
	}
	n -= sem_run;
	words += sem_run;
	t = (struct typed){ .verb = words[0], .help = verbs->help(words[0]) };
	if (t.help == NULL)
		return EX_NO;
	read_words(&t, n - 1, words + 1, &o);
	open_table_inherit(&t.table);
	if (t.table.of_user && other_user_switch(t.table.uid) != 0)
		return EX_NO;
	if (t.value_of != NULL)
		offer_value(&t, begun);
	else if (begun[0] == '-' && !t.options_over)
		offer_options(t.help, begun);
	else
		offer_argument(&t, begun);
	free(t.help);
	return output_flush(EX_YES);
}
