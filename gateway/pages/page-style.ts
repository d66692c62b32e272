import { BASE_STYLE } from '../../platform/pages/base-style.ts'

/** The stylesheet of the pages on the public port. */
export const PAGE_STYLE = `${BASE_STYLE}body {
  margin: 0; background: var(--ground); color: var(--text); overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
body > header { background: var(--card); border-bottom: 1px solid var(--line); }
.bar { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: center; justify-content: space-between; }
.bar, main { width: 100%; max-width: 64rem; margin: 0 auto; padding: 0.75rem 1.25rem; }
main { padding-block: 2rem 4rem; }
.home { font-weight: 700; color: var(--text); text-decoration: none; padding: 0.25rem 0; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 0; padding: 0; list-style: none; }
nav a { display: inline-block; padding: 0.25rem 0; }
nav a[aria-current] { color: var(--text); font-weight: 600; }
h1 { margin: 0 0 0.75rem; font-size: clamp(1.75rem, 5vw, 2.5rem); line-height: 1.15; text-wrap: balance; }
h2 { margin: 2.5rem 0 0.75rem; font-size: 1.375rem; line-height: 1.25; }
h3 { margin: 0 0 0.5rem; font-size: 1.0625rem; }
h4 { margin: 1.25rem 0 0.5rem; font-size: 0.9375rem; }
ul, ol { margin: 0 0 1rem; }
.lead { max-width: 44rem; font-size: 1.125rem; color: var(--quiet); }
.eyebrow { margin: 0 0 0.5rem; color: var(--quiet); font-size: 0.875rem; font-weight: 600; letter-spacing: 0.04em; }
.skip:focus { top: 0.25rem; left: 0.25rem; width: auto; height: auto; padding: 0.5rem 1.25rem; clip-path: none; background: var(--card); }
main:focus { outline: none; }
code, pre, textarea { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.875em; }
pre code { font-size: inherit; }
pre {
  margin: 0 0 1rem; padding: 0.75rem 1rem; overflow: auto; max-height: 32rem; white-space: pre-wrap;
  background: var(--ground); border: 1px solid var(--line); border-radius: 0.5rem; font-size: 0.8125rem;
}
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); margin: 0 0 1rem; padding: 0; list-style: none; }
.cards > li, .panel {
  padding: 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem;
}
.cards p:last-child, .cards pre:last-child, .panel > :last-child { margin-bottom: 0; }
.panel h2 { margin-top: 0; }
.panel .actions { margin: 0.5rem 0; }
.panel form { margin: 0 0 1rem; }
.steps { counter-reset: step; }
.steps > li { counter-increment: step; }
.steps h3::before {
  content: counter(step); display: inline-grid; place-items: center; width: 1.75rem; height: 1.75rem;
  margin-right: 0.625rem; border-radius: 50%; background: var(--accent); color: var(--on-accent); font-size: 0.9375rem;
}
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1.5rem 0 0; }
.button {
  display: inline-block; padding: 0.625rem 1rem; font-weight: 600; text-decoration: none;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: 0.5rem;
}
.button:hover { background: var(--accent-over); border-color: var(--accent-over); }
.button.quiet { color: var(--accent); background: transparent; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
table { width: 100%; border-collapse: collapse; font-size: 0.9375rem; }
th, td { padding: 0.5rem 0.75rem 0.5rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td { min-width: 5rem; }
td:first-child { min-width: 7.5rem; }
th:last-child, td:last-child { padding-right: 0; }
label { display: block; margin: 0 0 0.25rem; font-weight: 600; }
input[type="text"], input[type="search"], input[type="password"], textarea, select {
  display: block; width: 100%; margin: 0 0 1rem; padding: 0.5rem 0.625rem; font: inherit;
  color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 0.5rem;
}
textarea { min-height: 10rem; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.8125rem; }
.choices { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 0 1rem; }
.choices label { display: flex; gap: 0.625rem; align-items: center; padding: 0.25rem 0; margin: 0; font-weight: 400; }
.choices input { flex: none; width: 1.125rem; height: 1.125rem; margin: 0; accent-color: var(--accent); }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; font-weight: 600; }
summary { cursor: pointer; padding: 0.5rem 0; }
.operation { margin: 0 0 0.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; }
.operation > summary { display: flex; flex-wrap: wrap; gap: 0.125rem 0.75rem; align-items: baseline; padding: 0.625rem 1rem; }
.operation > div { padding: 0.25rem 1rem 1rem; border-top: 1px solid var(--line); }
.method { min-width: 4.25rem; font: 700 0.8125rem/1.5 ui-monospace, Menlo, Consolas, monospace; color: var(--accent); }
.scopes { margin-left: auto; color: var(--quiet); font-size: 0.8125rem; }
.what { flex-basis: 100%; color: var(--quiet); font-size: 0.9375rem; }
.hint { color: var(--quiet); font-size: 0.9375rem; }
.notice code, .notice a { color: inherit; }
[hidden] { display: none; }
@media (max-width: 30rem) { main { padding-block: 1.25rem 3rem; } .scopes { margin-left: 0; } .cards > li, .panel { padding: 1rem; } }
@media (forced-colors: active) { .button { border-color: ButtonText; } }
`
