/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a page looks as plain text, as a man(7) page, as Markdown. Rule: no content here.
 */
#include "launcher/manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- plain text, 80 columns ---- */

#define TEXT_WIDTH 80
#define TEXT_INDENT 6

/* Prints words from column `indent`, breaking lines before TEXT_WIDTH and indenting them. */
static void print_wrapped(const char *text, size_t indent)
{
	size_t at = indent;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > indent && at + 1 + word > TEXT_WIDTH) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		}
		at += (size_t)printf(at > indent ? " %.*s" : "%.*s", (int)word, text);
		text += word + strspn(text + word, " ");
	}
	putchar('\n');
}

static void text_title(const char *name, int section, const char *summary)
{
	char line[256];
	size_t i;

	(void)section;
	snprintf(line, sizeof line, "%s", name);
	for (i = 0; line[i]; i++)
		if (line[i] == '-' && !strncmp(line, "tfprof-", i + 1))
			line[i] = ' '; /* the page is named tfprof-run, the command tfprof run */
	printf("%s: %s\n", line, summary);
}

static void text_heading(const char *text)
{
	printf("\n%s\n", text);
}

static void text_paragraph(const char *text)
{
	putchar('\n');
	print_wrapped(text, 0);
}

static void text_code(const char *line)
{
	printf("  %s\n", line);
}

static void text_item(const char *term, const char *text)
{
	printf("  %s\n%*s", term, TEXT_INDENT, "");
	print_wrapped(text, TEXT_INDENT);
}

static void nothing(void)
{
}

/* ---- man(7) ---- */

/* Text for roff: backslashes, and dots and quotes at the start of a line, are not commands. */
static void man_put(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
	putchar('\n');
}

static void man_title(const char *name, int section, const char *summary)
{
	const char *letter;

	fputs(".TH ", stdout);
	for (letter = name; *letter; letter++)
		putchar(toupper((unsigned char)*letter));
	printf(" %d \"\" tfprof\n.SH NAME\n%s \\- %s\n", section, name, summary);
}

static void man_heading(const char *text)
{
	fputs(".SH ", stdout);
	for (; *text; text++)
		putchar(toupper((unsigned char)*text));
	putchar('\n');
}

static void man_paragraph(const char *text)
{
	puts(".PP");
	man_put(text);
}

static void man_code(const char *line)
{
	puts(".PP\n.nf");
	man_put(line);
	puts(".fi");
}

static void man_item(const char *term, const char *text)
{
	fputs(".TP\n.B ", stdout);
	man_put(term);
	man_put(text);
}

/* ---- Markdown ---- */

/* Text outside of code: < would begin a tag. */
static void markdown_put(const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			putchar('\\');
		putchar(*text);
	}
}

static void markdown_title(const char *name, int section, const char *summary)
{
	printf("# %s(%d): %s\n", name, section, summary);
}

static void markdown_heading(const char *text)
{
	printf("\n## %s\n", text);
}

static void markdown_paragraph(const char *text)
{
	putchar('\n');
	markdown_put(text);
	putchar('\n');
}

static void markdown_code(const char *line)
{
	printf("\n    %s\n", line);
}

static void markdown_item(const char *term, const char *text)
{
	printf("\n- **%s**: ", term);
	markdown_put(text);
}

static void markdown_list_end(void)
{
	putchar('\n');
}

static const struct manual_style styles[] = {
	{"text", text_title, text_heading, text_paragraph, text_code, text_item, nothing},
	{"man", man_title, man_heading, man_paragraph, man_code, man_item, nothing},
	{"markdown", markdown_title, markdown_heading, markdown_paragraph, markdown_code, markdown_item, markdown_list_end},
};

const struct manual_style *manual_style(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof styles / sizeof styles[0]; i++)
		if (!strcmp(name, styles[i].name))
			return &styles[i];
	return NULL;
}
