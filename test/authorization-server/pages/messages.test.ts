import t from 'tap'
import { DE } from '../../../authorization-server/pages/messages/de.ts'
import { EN, type MessageKey } from '../../../authorization-server/pages/messages/en.ts'
import { message, selectLocale } from '../../../authorization-server/pages/messages/message.ts'
import { html } from '../../../platform/pages/html.ts'
import { anInteraction, CAROL, openForm, startPages } from '../../fixtures/start-pages.ts'

const keys = Object.keys(EN) as MessageKey[]

t.test('each German text has the values of the English text, and differs from it', async (t) => {
  const valuesOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort()
  t.strictSame(Object.keys(DE), keys)
  for (const key of keys) {
    t.strictSame(valuesOf(DE[key]), valuesOf(EN[key]), key)
    t.not(DE[key], EN[key], key)
    t.equal(DE[key].startsWith(' '), EN[key].startsWith(' '), key)
  }
})

t.test('message() escapes text and keeps markup', async (t) => {
  t.equal(String(message('de', 'page.request', { id: '<b>' })), 'Anfrage &#60;b&#62;')
  t.equal(String(message('en', 'signIn.continueTo', { app: html`<b>App</b>` })), 'to continue to <b>App</b>')
  t.equal(String(message('en', 'signIn.continueTo', { app: '{app}' })), 'to continue to {app}')
})

t.test('selectLocale() prefers ui_locales, then Accept-Language by quality, then English', async (t) => {
  const cases: readonly [string | undefined, string | undefined, string][] = [
    [undefined, undefined, 'en'],
    ['', '', 'en'],
    ['de', undefined, 'de'],
    ['fr-CA de en', undefined, 'de'],
    ['DE-at', 'en', 'de'],
    ['en', 'de', 'en'],
    ['fr', 'de', 'de'],
    [undefined, 'de-CH', 'de'],
    [undefined, 'fr, de;q=0.8, en;q=0.9', 'en'],
    [undefined, 'fr, en;q=0.8 , de ; q=0.9', 'de'],
    [undefined, 'en;q=0, de;q=0.1', 'de'],
    [undefined, 'de;q=0', 'en'],
    [undefined, 'de;q=x', 'en'],
    [undefined, '*', 'en'],
    [undefined, 'deu, den', 'en'],
    [undefined, `${'fr,'.repeat(20)}de`, 'en'],
    ['fr '.repeat(20), 'de', 'de'],
    ['__proto__ constructor', 'toString', 'en'],
  ]
  for (const [uiLocales, acceptLanguage, locale] of cases)
    t.equal(selectLocale({ uiLocales, acceptLanguage }), locale, `${uiLocales} | ${acceptLanguage}`)
})

t.test('a page has the language of the request, and its headers name it', async (t) => {
  const pages = await startPages(t)
  const open = async (acceptLanguage: string) => {
    const url = `${pages.url}/oauth/interaction/${pages.interaction.uid}`
    const response = await fetch(url, { headers: { 'accept-language': acceptLanguage } })
    t.match(response.headers.get('vary'), /\baccept-language\b/i)
    return { language: response.headers.get('content-language'), markup: await response.text() }
  }
  const english = await open('fr')
  t.equal(english.language, 'en')
  t.match(english.markup, '<html lang="en">')
  const german = await open('de-DE,de;q=0.9,en;q=0.8')
  t.equal(german.language, 'de')
  t.match(german.markup, '<html lang="de">')
  t.match(german.markup, '<h1>Anmelden</h1>')
  t.match(german.markup, '<footer>Anfrage request-1</footer>')
  const { requested } = pages.interaction
  pages.interaction = anInteraction({
    prompt: 'consent',
    accountId: CAROL.id,
    requested: { ...requested, uiLocales: 'de' },
  })
  t.match((await openForm(pages)).markup, 'möchte Ihr Konto verwenden')
  pages.failure = new Error('a defect')
  const failed = await open('de')
  t.equal(failed.language, 'de')
  t.match(failed.markup, '<h1>Auf unserer Seite ist ein Fehler aufgetreten</h1>')
})
