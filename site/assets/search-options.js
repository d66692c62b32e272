/** Splits a name such as `tokenCache` into its words, and keeps the whole name. */
function wordsOf(term) {
  const words = term.split(/(?<=[a-z0-9])(?=[A-Z])|_/)
  return [term, ...(words.length > 1 ? words : [])].map((word) => word.toLowerCase())
}

/** The build and the page use the same options. */
export const SEARCH_OPTIONS = {
  fields: ['heading', 'page', 'text'],
  storeFields: ['url', 'page', 'heading'],
  processTerm: wordsOf,
  searchOptions: {
    processTerm: (term) => term.toLowerCase(),
    boost: { heading: 4, page: 2 },
    prefix: true,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    combineWith: 'AND',
  },
}
