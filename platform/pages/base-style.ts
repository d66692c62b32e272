import { PAGE_COLORS } from './page-colors.ts'

/** The style of elements that all pages share. */
export const BASE_STYLE = `${PAGE_COLORS}* { box-sizing: border-box; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; text-wrap: balance; }
h2 { margin: 1.5rem 0 0.75rem; font-size: 1.125rem; }
p { margin: 0 0 1rem; }
bdi { overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: 0.25em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
button {
  padding: 0.625rem 1rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: 0.5rem;
}
button:hover { background: var(--accent-over); border-color: var(--accent-over); }
button.quiet { color: var(--accent); background: transparent; }
button.quiet:hover { color: var(--accent-over); }
.notice, .wrong { margin: 0 0 1rem; padding: 0.75rem 1rem; border-left: 4px solid; border-radius: 0.25rem; }
.notice { background: var(--notice); border-color: var(--notice-line); color: var(--notice-text); }
.wrong { background: var(--wrong); border-color: var(--wrong-line); color: var(--wrong-text); }
.badge {
  display: inline-block; padding: 0 0.5rem; font-size: 0.8125rem; font-weight: 600; white-space: nowrap;
  border: 1px solid currentColor; border-radius: 1rem; color: var(--quiet);
}
.badge.changes { color: var(--notice-text); background: var(--notice); border-color: var(--notice-line); }
dl { margin: 0 0 1rem; border: 1px solid var(--line); border-radius: 0.5rem; }
dl div { padding: 0.75rem 1rem; }
dl div + div { border-top: 1px solid var(--line); }
dt { color: var(--quiet); font-size: 0.875rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
pre { margin: 0.5rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.875rem; }
@media (forced-colors: active) { button, .badge { border-color: ButtonText; } }
`
