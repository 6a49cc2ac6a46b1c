/* SPDX-License-Identifier: Apache-2.0 */
/* What every HTML report has in common, made into C by scripts/html-assets. Rule: the run's own data stand between the two. */
#ifndef REDUCER_REPORT_HTML_H
#define REDUCER_REPORT_HTML_H

extern const unsigned char report_html_head[], report_html_tail[];
extern const unsigned long report_html_head_bytes, report_html_tail_bytes;

#endif
