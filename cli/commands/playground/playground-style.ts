import { hash } from 'node:crypto'
import { BASE_STYLE } from '../../../platform/pages/base-style.ts'

export const PLAYGROUND_STYLE = `${BASE_STYLE}
body {
  margin: 0; padding: 1rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; margin: 0 0 1rem; }
header p { margin: 0; color: var(--quiet); }
h1 { margin: 0; }
h2 { margin: 0 0 0.5rem; }
h3 { margin: 1rem 0 0.5rem; font-size: 1rem; }
form { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 60rem) { form { grid-template-columns: repeat(2, minmax(0, 1fr)); align-items: start; } }
section { padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; }
p { margin: 0 0 0.75rem; overflow-wrap: anywhere; }
#request-help { color: var(--quiet); font-size: 0.875rem; }
code, pre, textarea, input[type="text"] { font: 0.875rem/1.45 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
label { display: block; font-weight: 600; }
textarea, input[type="text"] {
  display: block; width: 100%; margin: 0 0 0.75rem; padding: 0.625rem 0.75rem; resize: vertical; tab-size: 2;
  color: inherit; background: var(--ground); border: 1px solid var(--quiet); border-radius: 0.5rem;
}
summary { padding: 0.25rem 0; font-weight: 600; cursor: pointer; overflow-wrap: anywhere; }
pre {
  margin: 0; padding: 0.625rem 0.75rem; background: var(--ground);
  border-left: 4px solid var(--line); border-radius: 0.25rem;
}
pre[tabindex] { white-space: pre; overflow-wrap: normal; overflow-x: auto; }
.problems { display: grid; gap: 0.75rem; margin: 0 0 0.75rem; padding: 0; list-style: none; }
.problems li { min-width: 0; }
.error pre { background: var(--wrong); border-color: var(--wrong-line); color: var(--wrong-text); }
.warning pre { background: var(--notice); border-color: var(--notice-line); color: var(--notice-text); }
#status { font-weight: 600; }
#shared:empty { display: none; }
.actions { display: flex; flex-wrap: wrap; gap: 0.75rem; }
details .quiet { margin: 0 0 0.75rem; padding: 0.25rem 0.5rem; font-size: 0.875rem; overflow-wrap: anywhere; }
.problems a { display: inline-block; padding: 0.25rem 0; font-size: 0.875rem; }
.problems button { margin-top: 0.25rem; padding: 0.25rem 0.5rem; font-size: 0.875rem; overflow-wrap: anywhere; }
`

/** CSP source that allows the stylesheet by its hash. CSP Level 3 section 8.4. */
export const PLAYGROUND_STYLE_SOURCE = `'sha256-${hash('sha256', PLAYGROUND_STYLE, 'base64')}'`
