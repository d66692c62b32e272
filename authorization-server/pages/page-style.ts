import { BASE_STYLE } from '../../platform/pages/base-style.ts'

/** The stylesheet of all pages of the authorization server. */
export const PAGE_STYLE = `${BASE_STYLE}
body {
  margin: 0; padding: 1rem; min-height: 100vh; display: flex; flex-direction: column; align-items: center;
  background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main, footer { width: 100%; max-width: 28rem; }
main.wide, main.wide + footer { max-width: 48rem; }
main {
  margin-top: min(8vh, 4rem); padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 0.75rem;
}
footer { padding: 1rem 0.25rem; color: var(--quiet); font-size: 0.8125rem; overflow-wrap: anywhere; }
.service { margin: 0 0 0.25rem; color: var(--quiet); font-size: 0.9375rem; }
.service img { display: block; max-width: 100%; height: 3rem; margin: 0 0 0.5rem; object-fit: contain; object-position: left; }
footer p { margin: 0 0 0.25rem; }
footer a { display: inline-block; padding: 0.25rem 0; margin-right: 1rem; }
label { display: block; margin: 0 0 0.25rem; font-weight: 600; }
input[type="text"], input[type="password"] {
  display: block; width: 100%; margin: 0 0 1rem; padding: 0.625rem 0.75rem; font: inherit;
  color: inherit; background: var(--card); border: 1px solid var(--quiet); border-radius: 0.5rem;
}
input[aria-invalid="true"] { border-color: var(--wrong-line); }
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1.5rem 0 0; }
.actions > * { flex: 1 1 7rem; }
.actions > a { align-self: center; }
.wide .actions > * { max-width: 22rem; }
form + p { margin-top: 1rem; }
form + form:has(label) { margin-top: 1.5rem; }
dd strong ~ a { display: block; width: fit-content; }
.groups { display: grid; gap: 1.25rem 2rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
.group { display: grid; grid-template-columns: 1fr auto; align-items: center; align-content: start; }
h3 { margin: 0; padding: 0.25rem 0; color: var(--quiet); font-size: 0.9375rem; }
.group .scope { grid-column: 1 / -1; }
.scope { display: flex; gap: 0.75rem; margin: 0; padding: 0.375rem 0; font-weight: 400; cursor: pointer; }
.scope input { flex: none; width: 1.125rem; height: 1.125rem; margin: 0.2rem 0 0; accent-color: var(--accent); }
.toggle {
  display: inline-flex; gap: 0.75rem; align-items: center; padding: 0.25rem 0;
  color: var(--text); background: none; border: 0; font-weight: 400;
}
.toggle:hover { color: var(--accent-over); background: none; }
.toggle::before {
  box-sizing: border-box; flex: none; width: 1.125rem; height: 1.125rem; content: "";
  border: 1px solid var(--quiet); border-radius: 0.1875rem;
  font-size: 0.875rem; font-weight: 700; line-height: 1rem; text-align: center;
}
.group .toggle { flex-direction: row-reverse; color: var(--quiet); font-size: 0.875rem; }
.toggle[aria-checked="true"]::before, .toggle[aria-checked="mixed"]::before {
  color: var(--on-accent); background: var(--accent); border-color: var(--accent);
}
.toggle[aria-checked="true"]::before { content: "✓"; }
.toggle[aria-checked="mixed"]::before { content: "–"; }
.group:has(.scope input:checked) > .toggle::before, .consent:has(.scope input:checked) > p > .toggle::before {
  content: "✓"; color: var(--on-accent); background: var(--accent); border-color: var(--accent);
}
.group:has(.scope input:not(:checked)) > .toggle::before,
.consent:has(.scope input:not(:checked)) > p > .toggle::before { content: "–"; }
.group:not(:has(.scope input:checked)) > .toggle::before, .consent:not(:has(.scope input:checked)) > p > .toggle::before {
  content: ""; background: none; border-color: var(--quiet);
}
.consent { counter-reset: chosen changing; }
.scope input:checked { counter-increment: chosen; }
.scope.changes input:checked { counter-increment: chosen changing; }
.chosen { margin: 1.5rem 0 0; }
.chosen .count::before { content: counter(chosen); }
.chosen .count.changes::before { content: counter(changing); }
.chosen + .actions { margin-top: 0.75rem; }
.app { margin: 0 0 1rem; padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; }
.app h3 { color: var(--text); font-size: 1rem; overflow-wrap: anywhere; }
.app ul { margin: 0.25rem 0 0.5rem; padding-left: 1.25rem; }
.app .times { margin: 0 0 0.75rem; color: var(--quiet); font-size: 0.875rem; }
.key { padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; }
.key code { font-size: 1.125rem; overflow-wrap: anywhere; }
.key svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 0.25rem 1rem; padding-left: 1.25rem; }
.actions form button { width: 100%; }
@media (max-width: 26rem) {
  body { padding: 0.5rem; }
  main { margin-top: 0; padding: 1.25rem; }
}
@media (forced-colors: active) { .toggle::before { border-color: ButtonText; } .toggle { border: 0; } }
`
