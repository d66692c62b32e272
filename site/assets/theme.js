// Runs before the first paint, so that a chosen color scheme does not flash.
const scheme = localStorage.getItem('scheme')
if (scheme === 'light' || scheme === 'dark') document.documentElement.dataset.scheme = scheme
