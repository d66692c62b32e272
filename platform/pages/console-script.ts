import { hash } from 'node:crypto'

/**
 * Replaces the parts of the page that {@link live} marks, with the parts of the same page in the event stream. Without
 * this script, a person reloads the page.
 */
export const CONSOLE_SCRIPT = `
(() => {
  const status = document.getElementById('live-status')
  const button = document.getElementById('live-switch')
  const address = new URL(location.href)
  address.searchParams.set('format', 'events')
  address.hash = ''
  let source, timer
  const keyOf = (element) => element.id || element.getAttribute('href') || element.textContent
  const update = (markup) => {
    const next = new DOMParser().parseFromString(markup, 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) {
      const fresh = next.querySelector('[data-live="' + part.dataset.live + '"]')
      if (fresh === null || fresh.innerHTML === part.innerHTML) continue
      const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : undefined
      const open = new Set([...part.querySelectorAll('details[open]')].map((one) => keyOf(one.querySelector('summary'))))
      part.replaceChildren(...fresh.childNodes)
      for (const one of part.querySelectorAll('details')) one.open ||= open.has(keyOf(one.querySelector('summary')))
      if (focused === undefined) continue
      for (const one of part.querySelectorAll('a, summary, button'))
        if (keyOf(one) === focused) { one.focus({ preventScroll: true }); break }
    }
  }
  const stop = () => { clearTimeout(timer); source?.close(); source = undefined }
  const start = () => {
    stop()
    button.textContent = 'Pause updates'
    status.textContent = 'Connecting'
    source = new EventSource(address)
    source.addEventListener('page', (event) => {
      status.textContent = 'Updated ' + new Date().toISOString().slice(11, 19) + ' UTC'
      update(JSON.parse(event.data))
    })
    source.onopen = () => { status.textContent = 'Live' }
    source.onerror = () => {
      stop()
      status.textContent = 'No live updates: the service stopped, or too many pages are open. Retrying'
      timer = setTimeout(start, 5000)
    }
  }
  button.hidden = false
  button.addEventListener('click', () => {
    if (source === undefined && timer === undefined) return start()
    stop()
    timer = undefined
    button.textContent = 'Resume updates'
    status.textContent = 'Paused'
  })
  start()
})()
`

/** CSP source that allows the script by its hash. CSP Level 3 section 8.4. */
export const CONSOLE_SCRIPT_SOURCE = `'sha256-${hash('sha256', CONSOLE_SCRIPT, 'base64')}'`
