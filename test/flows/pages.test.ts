// Each import registers the tests of its file. The files share one browser and one server.
import '../authorization-server/pages/chromium/forms.ts'
import '../authorization-server/pages/chromium/consent.ts'
import '../authorization-server/pages/chromium/keyboard.ts'
import '../authorization-server/pages/chromium/states.ts'
