import { type Html, html } from '../../../platform/pages/html.ts'
import type { Evaluation, PlaygroundFile, PlaygroundInput, PlaygroundProblem } from './evaluate.ts'
import { PLAYGROUND_SCRIPT } from './playground-script.ts'
import { PLAYGROUND_STYLE } from './playground-style.ts'

/** Names that the form accepts for a new file. The server checks the name again. */
const NEW_NAME = '(?:[A-Za-z0-9_\\-]+/){1,2}[A-Za-z0-9_.\\-]+\\.ya?ml'

/** Renders the page with the texts and their results. The page works without its script. */
export function renderPlayground(
  { files, request }: PlaygroundInput,
  result: Evaluation | { readonly stopped: string },
): string {
  const body = html`<header>
<h1>Scopegate playground</h1>
<p>Everything stays on this machine. Nothing is written to files.</p>
</header>
<main>
<form method="post" autocomplete="off">
<section aria-labelledby="files-title">
<h2 id="files-title">Policies and configuration</h2>
<details>
<summary>Add a file</summary>
<label for="new">Name, for example policies/orders.policy.yaml</label>
<input type="text" id="new" name="new" pattern="${NEW_NAME}" title="A path such as policies/orders.policy.yaml" maxlength="200" autocapitalize="off" spellcheck="false">
<button name="add" value="yes" class="quiet">Add</button>
</details>
${files.map(renderFile)}
</section>
<section aria-labelledby="request-title">
<h2 id="request-title"><label for="request">Request</label></h2>
<p id="request-help">METHOD PATH and options, as for <code>scopegate explain</code>: <code>--scope</code>, <code>--claim NAME=VALUE</code>, <code>--header NAME=VALUE</code>, <code>--mode</code>. Without <code>--scope</code> and <code>--claim</code>, the request has no token.</p>
<textarea id="request" name="request" rows="3" aria-describedby="request-help" spellcheck="false" autocapitalize="off">
${request}</textarea>
<p class="actions"><button>Check and explain</button> <button type="button" class="quiet" id="share" hidden>Make a link</button></p>
<p id="shared" role="status"></p>
<p id="status" role="status">${'stopped' in result ? result.stopped : result.summary}</p>
<div id="results">${'stopped' in result ? '' : renderResults(result)}</div>
</section>
</form>
</main>`
  return renderDocument(body, `<script>${PLAYGROUND_SCRIPT}</script>`)
}

/** Renders the documentation of a diagnostic code. */
export function renderErrorPage(title: string, text: string): string {
  return renderDocument(html`<main>
<h1>${title}</h1>
<p><a href="../">Back to the example</a></p>
<pre>${text}</pre>
</main>`)
}

function renderDocument(body: Html, script = ''): string {
  // The browser must receive script and style byte for byte, because the content security policy contains their hashes.
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Scopegate playground</title>
<style>${PLAYGROUND_STYLE}</style>
</head>
<body>
${body}
${script}
</body>
</html>
`
}

function renderFile({ name, text }: PlaygroundFile, at: number): Html {
  const rows = Math.min(Math.max(text.split('\n').length, 4), 30)
  // A browser removes the first line break of a text area.
  return html`<details${at === 0 && html` open`}>
<summary>${name}</summary>
<input type="hidden" name="name" value="${name}">
<textarea name="text" aria-label="${name}" data-file="${name}" rows="${rows}" wrap="off" spellcheck="false" autocapitalize="off">
${text}</textarea>
<button name="remove" value="${name}" class="quiet">Remove ${name}</button>
</details>`
}

function renderResults({ problems, explained }: Evaluation): Html {
  const notes = problems.filter(({ severity }) => severity === 'note')
  const others = problems.filter(({ severity }) => severity !== 'note')
  return html`${others.length > 0 && html`<ul class="problems">${others.map(renderProblem)}</ul>`}
${
  notes.length > 0 &&
  html`<details id="notes"><summary>${notes.length === 1 ? '1 note' : `${notes.length} notes`}</summary>
<ul class="problems">${notes.map(renderProblem)}</ul></details>`
}
${
  'wrong' in explained
    ? html`<p class="notice">${explained.wrong}</p>`
    : html`<h3>Response to the client</h3>
<pre>${explained.response}</pre>
<h3>Decision</h3>
<pre tabindex="0">${explained.explanation}</pre>`
}`
}

function renderProblem({ severity, code, text, file, line }: PlaygroundProblem): Html {
  return html`<li class="${severity}"><pre tabindex="0">${text}</pre>
<button type="button" class="quiet" data-go-file="${file}" data-go-line="${line ?? 1}" hidden>Go to ${file}:${line ?? 1}</button>
<a href="errors/${code}" target="_blank">Explain ${code}</a></li>`
}
