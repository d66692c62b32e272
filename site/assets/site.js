const root = document.body.dataset.root
const wide = matchMedia('(min-width: 60rem)')

// The menu is a column of a wide window.
const menu = document.querySelector('.menu')
const openMenu = () => {
  menu.open = wide.matches
}
openMenu()
wide.addEventListener('change', openMenu)
document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'center' })
scrollTo({ top: 0 })
if (location.hash !== '')
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView()

// A person who uses only the keyboard must reach an area that scrolls.
const observer = new ResizeObserver((entries) => {
  // Without -1, Tab in Chromium also reaches an area that scrolls by a part of a pixel.
  for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1
})
for (const area of document.querySelectorAll('.wide')) observer.observe(area)

// Color scheme: as the system, until the person chooses another one.
const SCHEMES = { auto: 'Colors: auto', light: 'Colors: light', dark: 'Colors: dark' }
const button = document.querySelector('.scheme')
const nameScheme = () => {
  button.textContent = SCHEMES[document.documentElement.dataset.scheme ?? 'auto']
}
button.addEventListener('click', () => {
  const names = Object.keys(SCHEMES)
  const next = names[(names.indexOf(document.documentElement.dataset.scheme ?? 'auto') + 1) % names.length]
  if (next === 'auto') {
    localStorage.removeItem('scheme')
    delete document.documentElement.dataset.scheme
  } else {
    localStorage.setItem('scheme', next)
    document.documentElement.dataset.scheme = next
  }
  nameScheme()
})
nameScheme()
button.hidden = false

// Versions: the list is beside the folders of the versions.
const select = document.querySelector('.version select')
const versions = await fetch(`${root}../versions.json`).then((response) =>
  response.ok ? response.json() : [],
)
const shown = select.value
for (const version of versions.filter((one) => one !== shown)) select.append(new Option(version))
select.disabled = false
select.addEventListener('change', () => {
  location.href = `${root}../${select.value}/`
})

const { openSearch } = await import('./search.js')
openSearch(root)
