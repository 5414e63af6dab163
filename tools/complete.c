/* SPDX-License-Identifier: MIT */
/*
 * Prints the candidates for the word under the cursor, for the completion of
 * bash, zsh and fish (tools/completion).
 *
 * Everything is read from the output of the verb's --help: there is no second
 * list of options that could differ:
 *
 *	usage: leasehold session renew|destroy [OPTION...] [NAME]
 *	  -w, --wait TIME      wait so long at most ...
 *
 * Words in lower case are to be typed as they are; words in capitals say what
 * stands there, and some of these are known (kinds).
 *
 * A candidate is a line, with a tab and what it means behind it where that is
 * known.  A line ":files" or ":commands" says that the shell knows best.
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
#include "output.h"

#define WORD_MAX 64
#define TOKENS_MAX 16

/* An option, as --help has it. */
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
	const char *value_of;		/* the option whose value is begun */
	const char *value_kind;
};

/* The choices that an option's description has no form for. */
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

/* Copies a word up to a blank or one of `ends`; returns what follows it. */
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

/* Reads the line of an option.  Returns false if it is none. */
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

/* Returns true if the next word is the value of this one. */
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
	if (strcmp(option, "--table") == 0)
		t->table.name = value;
}

/* Reads all words but the last one, which is begun. */
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
			/* what follows the key of a run is the command's */
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
			t->table.name = w + 8;
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

/* Offers each of the words that blanks or bars divide. */
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

/* Offers keys; of a list, for what stands behind its last comma. */
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
		complete_live_tables(t->table.system, begun);
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

/* Splits a usage line behind the verb into its arguments, without options and
 * their values. */
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

/* True if a word is what stands at that place of a usage line. */
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

/* Offers what stands at the place of the word that is begun, in each usage line
 * that the words before it fit. */
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
			break;		/* the usage is over */
		if (strncmp(usage, lead, strlen(lead)) != 0)
			continue;
		n = split_usage(usage + strlen(lead) + strlen(t->verb), token);
		/* what follows a command is the command's */
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
	    strcmp(words[1], "run") == 0;	/* has run's options */
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
	if (t.value_of != NULL)
		offer_value(&t, begun);
	else if (begun[0] == '-' && !t.options_over)
		offer_options(t.help, begun);
	else
		offer_argument(&t, begun);
	free(t.help);
	return output_flush(EX_YES);
}
