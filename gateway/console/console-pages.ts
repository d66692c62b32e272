import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { docsPage } from '../../platform/pages/docs-page.ts'
import type { ConsoleState } from './console-source.ts'
import { decisionPage } from './decision-page.ts'
import { decisionsPage } from './decisions-page.ts'
import { explainPage } from './explain-page.ts'
import { issuersPage } from './issuers-page.ts'
import { overviewPage } from './overview-page.ts'
import { policiesPage } from './policies-page.ts'
import { routePage } from './route-page.ts'
import { routesPage } from './routes-page.ts'
import { upstreamsPage } from './upstreams-page.ts'

/** The pages of the console, in the order of the navigation. */
export function consolePages(state: ConsoleState): readonly ConsolePage[] {
  return [
    overviewPage(state),
    routesPage(state),
    routePage(state),
    decisionsPage(state),
    decisionPage(state),
    explainPage(state),
    policiesPage(state),
    upstreamsPage(state),
    issuersPage(state),
    docsPage(),
  ]
}
