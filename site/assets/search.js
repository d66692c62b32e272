const MAX_RESULTS = 12

/** Enables the search field. Loads the library and the index when the field gets the focus. */
export function openSearch(root) {
  const area = document.querySelector('search')
  const input = area.querySelector('input')
  const results = area.querySelector('.results')
  const status = area.querySelector('[role=status]')
  let index

  const load = async () => {
    const [{ default: MiniSearch }, { SEARCH_OPTIONS }, text] = await Promise.all([
      import('./minisearch.js'),
      import('./search-options.js'),
      fetch(`${root}search-index.json`).then((response) => response.text()),
    ])
    return MiniSearch.loadJSON(text, SEARCH_OPTIONS)
  }

  const close = () => {
    results.hidden = true
    results.replaceChildren()
    status.textContent = ''
  }

  const show = async () => {
    index ??= load()
    const search = await index
    const query = input.value.trim()
    if (query === '') return close()
    const found = search.search(query)
    results.replaceChildren(listOf(found.slice(0, MAX_RESULTS), root))
    results.hidden = false
    status.textContent = found.length === 1 ? '1 result' : `${found.length} results`
  }

  /** Moves the focus between the field and the results. */
  const move = (step) => {
    const stops = [input, ...results.querySelectorAll('a')]
    stops[stops.indexOf(document.activeElement) + step]?.focus()
  }

  input.addEventListener('focus', () => {
    index ??= load()
  })
  input.addEventListener('input', show)
  area.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      close()
      input.focus()
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      move(event.key === 'ArrowDown' ? 1 : -1)
    } else if (event.key === 'Enter' && event.target === input) results.querySelector('a')?.click()
  })
  document.addEventListener('click', ({ target }) => {
    if (!area.contains(target)) close()
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, select')) return
    event.preventDefault()
    input.focus()
  })
  input.placeholder = 'Search (/)'
  input.disabled = false
}

function listOf(found, root) {
  if (found.length === 0) {
    const none = document.createElement('p')
    none.textContent = 'No page contains all these words.'
    return none
  }
  const list = document.createElement('ul')
  list.append(
    ...found.map(({ url, page, heading }) => {
      const link = document.createElement('a')
      link.href = `${root}${url}`
      const title = document.createElement('b')
      title.textContent = heading
      const place = document.createElement('span')
      place.textContent = page
      link.append(title, ...(page === heading ? [] : [place]))
      const item = document.createElement('li')
      item.append(link)
      return item
    }),
  )
  return list
}
