import { hash } from 'node:crypto'
import { BASE_STYLE } from './base-style.ts'

/** The stylesheet of the pages of a console. */
export const CONSOLE_STYLE = `${BASE_STYLE}
:root { --ok: #1a7f4b; --bar: #5b7fe0; --bar-wrong: #c62f2f; --bar-notice: #b98300; }
@media (prefers-color-scheme: dark) {
  :root { --ok: #6fd6a0; --bar: #7f9cf0; --bar-wrong: #e06767; --bar-notice: #d9a83a; }
}
body {
  margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--ground); color: var(--text);
  font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
.skip:focus { top: 0.25rem; left: 0.25rem; width: auto; height: auto; padding: 0.5rem 1rem; clip-path: none; background: var(--card); }
header, main, footer { width: 100%; max-width: 84rem; margin: 0 auto; padding: 0.75rem 1rem; }
main { flex: 1; }
p { overflow-wrap: anywhere; }
.bar { background: var(--card); border-bottom: 1px solid var(--line); }
header { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: baseline; }
header p { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0; padding: 0; list-style: none; }
nav a { display: inline-block; padding: 0.25rem 0; text-decoration: none; }
nav .other { padding-left: 1rem; border-left: 1px solid var(--line); }
nav a:hover { text-decoration: underline; }
nav a[aria-current] { color: var(--text); font-weight: 600; border-bottom: 3px solid var(--accent); }
footer { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: baseline; color: var(--quiet); font-size: 0.8125rem; }
footer p { margin: 0; }
h1 { margin: 0.5rem 0 0.75rem; }
.cards { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); margin: 0 0 1rem; }
.card { padding: 0.75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; min-width: 0; }
.card h2, .card h3 { margin: 0; font-size: 0.875rem; font-weight: 600; color: var(--quiet); }
.card p { margin: 0; overflow-wrap: anywhere; }
.card .number { font-size: 1.375rem; font-weight: 600; line-height: 1.3; }
.card svg, .chart { display: block; width: 100%; height: 3rem; margin: 0.25rem 0; }
.quiet-text { color: var(--quiet); font-size: 0.8125rem; }
svg .area { fill: var(--bar); } svg .area.wrong { fill: var(--bar-wrong); } svg .area.notice { fill: var(--bar-notice); }
svg .base { stroke: var(--line); }
.state { font-weight: 600; }
[data-state="ok"] { color: var(--ok); } [data-state="wrong"] { color: var(--wrong-text); } [data-state="notice"] { color: var(--notice-text); }
.problem a { color: inherit; }
.problem p { margin: 0 0 0.25rem; overflow-wrap: anywhere; } .problem h2, .problem h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
table { width: 100%; margin: 0 0 1rem; background: var(--card); border: 1px solid var(--line); border-collapse: collapse; }
th, td { padding: 0.375rem 0.75rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-size: 0.8125rem; }
td { overflow-wrap: anywhere; }
.count { text-align: right; font-variant-numeric: tabular-nums; }
@media (max-width: 56rem) {
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  td, td.count { display: grid; grid-template-columns: 8rem 1fr; gap: 0.5rem; padding: 0.125rem 0.75rem; border: 0; text-align: left; }
  td > div { min-width: 0; }
  td:has(> div:empty) { display: none; }
  td::before { content: attr(data-title); color: var(--quiet); font-size: 0.8125rem; overflow-wrap: normal; }
}
code { font: 0.8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { margin: 0 0 1rem; padding: 0.75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; font: 0.8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
dl { background: var(--card); }
dl div { padding: 0.375rem 1rem; }
@media (min-width: 56rem) { dl div { display: grid; grid-template-columns: 15rem 1fr; gap: 1rem; } td:first-child:not(:has(time)) { min-width: 11rem; } }
dt { overflow-wrap: anywhere; }
form.filter { display: flex; flex-wrap: wrap; gap: 0.5rem 0.75rem; align-items: end; margin: 0 0 1rem; }
form.filter p { margin: 0; flex: 1 1 9rem; min-width: 0; }
form.filter p.wide { flex: 1 1 18rem; }
@media (min-width: 40rem) {
  form.filter p { max-width: 16rem; } form.filter p.wide { max-width: 32rem; }
  form.filter p:has(select) { min-width: max-content; }
}
details.filters > summary { padding: 0.375rem 0; font-weight: 600; cursor: pointer; }
details.filters:not([open]) > summary { margin: 0 0 0.5rem; }
@media (min-width: 40rem) {
  @supports selector(::details-content) {
    details.filters > summary { display: none; }
    details.filters::details-content { content-visibility: visible; }
  }
}
form.search { display: flex; gap: 0.375rem; flex: 1 1 11rem; max-width: 30rem; margin: 0 0 0 auto; }
form.search input { flex: 1 1 auto; min-width: 0; }
label { display: block; font-size: 0.8125rem; font-weight: 600; }
input[type="text"], input[type="search"], input[type="password"], select, textarea {
  display: block; width: 100%; min-height: 2.375rem; padding: 0.375rem 0.5rem; font: inherit; color: inherit;
  background: var(--card); border: 1px solid var(--quiet); border-radius: 0.375rem;
}
input[hidden] { display: none; }
::placeholder { color: var(--quiet); opacity: 1; }
textarea { font-family: ui-monospace, Menlo, Consolas, monospace; }
button { padding: 0.375rem 0.75rem; border-radius: 0.375rem; }
.pages { display: flex; gap: 1rem; align-items: baseline; }
.access { margin: 0 0 0 auto; }
@media (min-width: 56rem) { .words, td .state { overflow-wrap: normal; } td time { white-space: nowrap; } }
form.sign-in { max-width: 28rem; }
form.sign-in p { margin: 0 0 0.75rem; }
`

/** CSP source that allows the stylesheet by its hash. CSP Level 3 section 8.4. */
export const CONSOLE_STYLE_SOURCE = `'sha256-${hash('sha256', CONSOLE_STYLE, 'base64')}'`
