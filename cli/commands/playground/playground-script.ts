import { hash } from 'node:crypto'

/**
 * Sends the texts after each change, and replaces the results. Writes the texts into the fragment of the URL, which
 * browsers do not send to servers, and reads the texts from there.
 */
export const PLAYGROUND_SCRIPT = `
(() => {
  const DELAY_MS = 250
  const MAX_STATE = 4 * 1024 * 1024
  const find = (selector) => document.querySelector(selector)
  const say = (text) => { find('#status').textContent = text }
  let timer, current

  const send = async (body) => {
    current?.abort()
    current = new AbortController()
    const response = await fetch(location.pathname, { method: 'POST', body, signal: current.signal })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return new DOMParser().parseFromString(text, 'text/html')
  }
  const attempt = async (action) => {
    try {
      await action()
    } catch (error) {
      if (error.name === 'AbortError') return
      say(error instanceof TypeError ? 'No response. Is scopegate playground still running?' : error.message)
    }
  }
  const enable = () => { for (const one of document.querySelectorAll('button[hidden]')) one.hidden = false }
  const texts = () => new URLSearchParams(new FormData(find('form')))
  const replace = (page, selector) => find(selector).replaceChildren(...page.querySelector(selector).childNodes)
  const update = () => attempt(async () => {
    const areNotesOpen = find('#notes')?.open === true
    const page = await send(texts())
    replace(page, '#results')
    say(page.querySelector('#status').textContent)
    if (areNotesOpen && find('#notes') !== null) find('#notes').open = true
    enable()
  })

  const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream))
  const pack = async (text) => {
    const bytes = await through(text, new CompressionStream('deflate-raw')).bytes()
    return bytes.toBase64({ alphabet: 'base64url', omitPadding: true })
  }
  const unpack = async (packed) => {
    const bytes = Uint8Array.fromBase64(packed, { alphabet: 'base64url' })
    const decoder = new TextDecoder('utf-8', { fatal: true })
    let text = ''
    for await (const part of through(bytes, new DecompressionStream('deflate-raw')).body) {
      text += decoder.decode(part, { stream: true })
      if (text.length > MAX_STATE) throw new Error('The link contains too much text.')
    }
    return text + decoder.decode()
  }
  const load = () => attempt(async () => {
    if (location.hash.length < 2) return
    const state = await unpack(location.hash.slice(1)).catch(() => {
      throw new Error('The link is not complete.')
    })
    const page = await send(new URLSearchParams(state))
    replace(page, 'main')
    enable()
  })

  addEventListener('input', () => {
    find('#shared').textContent = ''
    clearTimeout(timer)
    timer = setTimeout(update, DELAY_MS)
  })
  addEventListener('submit', (event) => {
    event.preventDefault()
    const { submitter, target } = event
    if (submitter === null || submitter.name === '') return update()
    clearTimeout(timer)
    attempt(async () => {
      const page = await send(new URLSearchParams(new FormData(target, submitter)))
      replace(page, 'main')
      enable()
      const added = submitter.name === 'add' && [...document.querySelectorAll('textarea[data-file]')].at(-1)
      if (added) added.closest('details').open = true
      ;(added || find('details summary') || find('#request')).focus()
    })
  })
  addEventListener('hashchange', load)
  addEventListener('click', ({ target }) => {
    if (target.id === 'share') attempt(async () => {
      history.replaceState(undefined, '', '#' + await pack(texts().toString()))
      find('#shared').textContent = 'The address of this page now contains the texts. Copy the address.'
    })
    const { goFile, goLine } = target.dataset
    if (goFile === undefined) return
    const area = [...document.querySelectorAll('textarea[data-file]')].find((one) => one.dataset.file === goFile)
    if (area === undefined) return
    area.closest('details').open = true
    const lines = area.value.split('\\n')
    const start = lines.slice(0, goLine - 1).reduce((sum, line) => sum + line.length + 1, 0)
    area.focus()
    area.setSelectionRange(start, start + (lines[goLine - 1] ?? '').length)
    area.scrollTop = (area.scrollHeight / lines.length) * (goLine - 4)
  })
  enable()
  load()
})()
`

/** CSP source that allows the script by its hash. CSP Level 3 section 8.4. */
export const PLAYGROUND_SCRIPT_SOURCE = `'sha256-${hash('sha256', PLAYGROUND_SCRIPT, 'base64')}'`
