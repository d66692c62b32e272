import type { Texts } from './en.ts'

export const DE: Texts = {
  'page.request': 'Anfrage {id}',
  'page.help': 'Hilfe',
  'page.terms': 'Nutzungsbedingungen',
  'page.privacy': 'Datenschutz',

  'signIn.title': 'Anmelden',
  'signIn.failedTitle': 'Anmelden: Bitte versuchen Sie es erneut',
  'signIn.continueTo': 'weiter zu {app}',
  'signIn.unnamedApp': 'einer App ohne Namen',
  'signIn.wrong':
    'Der Benutzername oder das Passwort ist falsch. Prüfen Sie beide Angaben und versuchen Sie es erneut.',
  'signIn.username': 'Benutzername',
  'signIn.password': 'Passwort',
  'signIn.submit': 'Anmelden',
  'signIn.cancel': 'Abbrechen',
  'signIn.withProvider': 'Mit {title} anmelden',
  'signIn.unknownProvider': 'Diese Art der Anmeldung gibt es nicht. Wählen Sie eine andere aus.',
  'signIn.usedResponse': 'Diese Anmeldung ist abgelaufen oder bereits abgeschlossen. Beginnen Sie erneut.',
  'signIn.unavailable':
    '{title} antwortet nicht. Warten Sie einen Moment und versuchen Sie es erneut, oder melden Sie sich auf andere Weise an.',
  'signIn.invalid':
    'Die Antwort von {title} ist ungültig, daher sind Sie nicht angemeldet. Versuchen Sie es erneut. Wenn der Fehler erneut auftritt, wenden Sie sich an den Betreiber dieses Dienstes.',
  'signIn.denied':
    'Sie sind nicht angemeldet: {title} hat die Anmeldung nicht abgeschlossen. Versuchen Sie es erneut.',
  'signIn.notAdmitted':
    'Ihr Konto bei {title} darf {service} nicht verwenden. Verwenden Sie ein anderes Konto, oder bitten Sie den Betreiber um Zugriff.',
  'signIn.disabled': 'Ihr Konto bei {service} ist gesperrt. Bitten Sie den Betreiber um Zugriff.',

  'consent.title': 'Zugriff erlauben?',
  'consent.heading': '{app} möchte Ihr Konto verwenden',
  'consent.unnamedApp': 'Eine App ohne Namen',
  'consent.verified': 'Geprüft',
  'consent.knownApp': 'Der Betreiber von {service} kennt diese App.',
  'consent.notVerified': 'Nicht geprüft',
  'consent.unknownApp': 'Jede Person kann eine App mit diesem Namen registrieren.',
  'consent.host': 'Diese App gehört zu {host}.',
  'consent.hostAndName': 'Diese App gehört zu {host} und verwendet den Namen {name}.',
  'consent.unknownName': 'Der Betreiber von {service} hat diesen Namen nicht geprüft.',
  'consent.claimedHost':
    'Diese App gibt an, zu {host} zu gehören. Jede App auf diesem Computer kann dasselbe angeben.',
  'consent.claimedHostAndName':
    'Diese App gibt an, zu {host} zu gehören, und verwendet den Namen {name}. Jede App auf diesem Computer kann dasselbe angeben.',
  'consent.account': 'Sie sind angemeldet als',
  'consent.switchAccount': 'Falsches Konto? Konto wechseln',
  'consent.target': 'Sie werden weitergeleitet an',
  'consent.thisComputer': 'eine App auf diesem Computer',
  'consent.unknownTarget': 'ein unbekanntes Ziel',
  'consent.duration': 'Dauer des Zugriffs',
  'consent.lasts': 'Höchstens {max}.',
  'consent.lastsUnused': 'Höchstens {max}, ohne Nutzung {idle}.',
  'consent.removal': 'Auf {account} können Sie ihn vorher beenden.',
  'consent.accountPage': 'Ihrer Kontoseite',
  'consent.thisDevice':
    'Fahren Sie nur fort, wenn Sie diese Anmeldung gerade selbst in einer App auf diesem Gerät gestartet haben.',
  'consent.signInOnly': 'Diese App erfährt nur, dass Sie sich angemeldet haben.',
  'consent.scopes': 'Die App erhält diese Berechtigungen',
  'consent.nothingChosen': 'Wählen Sie mindestens ein Kästchen aus, oder brechen Sie ab.',
  'consent.manyWrites':
    'Diese App bittet um {count} Berechtigungen, mit denen sie Daten ändern kann. Wählen Sie die Berechtigungen aus, die Sie erteilen möchten.',
  'consent.everything': 'Alles',
  'consent.all': 'Alle{ofGroup}',
  'consent.ofGroup': ' aus {group}',
  'consent.canChange': 'kann ändern',
  'consent.includes': 'Das umfasst: {scopes}.',
  'consent.selected': 'Ausgewählt: {count} von {total}',
  'consent.selectedWrites': 'Ausgewählt: {count} von {total}, davon mit Änderung von Daten: {writes}',
  'consent.allow': 'Erlauben',
  'consent.cancel': 'Abbrechen',

  'account.title': 'Ihr Konto',
  'account.own': 'Ihrem Konto',
  'account.signedInAs': 'Sie sind angemeldet als',
  'account.since': 'In diesem Browser seit',
  'account.apps': 'Apps mit Zugriff',
  'account.noApps': 'Keine App hat Zugriff auf Ihr Konto.',
  'account.moreApps': '{count} weitere Apps haben Zugriff.',
  'account.removeAll': 'Alle {count} Apps entfernen',
  'account.removeEvery': 'Alle Apps entfernen',
  'account.newestGrants':
    'Sie haben sehr oft Zugriff erlaubt. Diese Seite zeigt nur die {count} neuesten Erlaubnisse. Weitere Apps können Zugriff haben.',
  'account.remove': 'Zugriff entfernen',
  'account.times': 'Zugriff seit {first}. Zuletzt verwendet: {last}.',
  'account.unknownTime': 'unbekannt',
  'account.signIn': 'Anmeldung',
  'account.oneSession': 'Nur dieser Browser ist bei Ihrem Konto angemeldet.',
  'account.sessions': '{count} Browser sind bei Ihrem Konto angemeldet.',
  'account.appsKeepAccess': 'Apps behalten ihren Zugriff, wenn Sie sich abmelden.',
  'account.signOut': 'Abmelden',
  'account.signOutOthers': 'Andere Browser abmelden',
  'account.removed': 'Die App hat keinen Zugriff mehr auf Ihr Konto.',
  'account.removedAll': 'Keine App hat mehr Zugriff auf Ihr Konto.',
  'account.signedOutOthers': 'Alle anderen Browser sind abgemeldet.',
  'account.signedOut': 'Sie sind abgemeldet',
  'account.signInAgain': 'Anmelden und das Konto ansehen',

  'logout.title': 'Abmelden?',
  'logout.app': '{app} möchte Sie in diesem Browser abmelden.',
  'logout.unnamedApp': 'Eine App möchte Sie in diesem Browser abmelden.',
  'logout.stay': 'Angemeldet bleiben',

  'password.title': 'Passwort festlegen',
  'password.failedTitle': 'Passwort festlegen: Bitte versuchen Sie es erneut',
  'password.account': 'für das Konto von {name} bei {service}',
  'password.rules': 'Das Passwort muss {min} bis {max} Zeichen haben.',
  'password.new': 'Neues Passwort',
  'password.repeated': 'Neues Passwort wiederholen',
  'password.different': 'Die beiden Passwörter sind verschieden. Geben Sie zweimal dasselbe Passwort ein.',
  'password.short': 'Das Passwort ist zu kurz: Es muss mindestens {min} Zeichen haben.',
  'password.long': 'Das Passwort ist zu lang: Es darf höchstens {max} Zeichen haben.',
  'password.submit': 'Passwort festlegen',
  'password.doneTitle': 'Ihr Passwort ist festgelegt',
  'password.invited': 'Sie können sich jetzt anmelden.',
  'password.reset':
    'Sie sind überall abgemeldet, und Apps haben keinen Zugriff mehr auf Ihr Konto. Melden Sie sich mit dem neuen Passwort an.',

  'secondFactor.title': 'Code eingeben',
  'secondFactor.failedTitle': 'Code eingeben: Bitte versuchen Sie es erneut',
  'secondFactor.account': 'Anmeldung als {name}',
  'secondFactor.hint':
    'Geben Sie die sechs Ziffern ein, die Ihre Authenticator-App anzeigt, oder einen Ihrer Wiederherstellungscodes.',
  'secondFactor.code': 'Einmalcode',
  'secondFactor.submit': 'Weiter',
  'secondFactor.wrong':
    'Der Code ist falsch oder wurde bereits verwendet. Warten Sie auf den nächsten Code der App und versuchen Sie es erneut.',
  'secondFactor.expired':
    'Die Anmeldung hat zu lange gedauert, oder Ihr Konto hat sich geändert. Melden Sie sich erneut an.',
  'secondFactor.alreadySet':
    'Ihre Authenticator-App ist bereits eingerichtet. Warten Sie auf den nächsten Code der App und geben Sie ihn ein. Neue Wiederherstellungscodes können Sie auf Ihrer Kontoseite erstellen.',
  'secondFactor.setUpTitle': 'Authenticator-App einrichten',
  'secondFactor.setUpFailedTitle': 'Authenticator-App einrichten: Bitte versuchen Sie es erneut',
  'secondFactor.required': '{service} fragt bei jeder Anmeldung nach einem Code aus einer Authenticator-App.',
  'secondFactor.addKey':
    'Scannen Sie das Bild mit Ihrer Authenticator-App, oder geben Sie den Schlüssel in die App ein.',
  'secondFactor.picture': 'QR-Code des Schlüssels',
  'secondFactor.openApp': 'Den Schlüssel einer App auf diesem Gerät hinzufügen',
  'secondFactor.firstCode': 'Geben Sie dann die sechs Ziffern ein, die die App anzeigt.',
  'secondFactor.setUp': 'Einrichten',
  'secondFactor.recoveryTitle': 'Ihre Wiederherstellungscodes',
  'secondFactor.recovery':
    'Ohne Ihre Authenticator-App können Sie sich mit einem dieser Codes anmelden. Jeder Code funktioniert einmal.',
  'secondFactor.keepCodes': 'Notieren Sie die Codes jetzt, denn keine Seite zeigt sie noch einmal.',
  'secondFactor.continue': 'Ich habe die Codes notiert: weiter',
  'secondFactor.manageTitle': 'Zweiter Schritt der Anmeldung',
  'secondFactor.off': 'Sie melden sich nur mit Ihrem Passwort an.',
  'secondFactor.on':
    'Sie melden sich mit Ihrem Passwort und einem Code Ihrer Authenticator-App an, seit {since}. Nicht verwendete Wiederherstellungscodes: {count}.',
  'secondFactor.begin': 'Authenticator-App einrichten',
  'secondFactor.replace': 'Andere App verwenden',
  'secondFactor.newRecovery': 'Wiederherstellungscodes erstellen',
  'secondFactor.remove': 'Zweiten Schritt entfernen',
  'secondFactor.wrongEither':
    'Das Passwort oder der Code ist falsch, oder der Code wurde bereits verwendet. Prüfen Sie beide Angaben und versuchen Sie es erneut.',
  'secondFactor.wrongPassword': 'Das Passwort ist falsch. Prüfen Sie es und versuchen Sie es erneut.',
  'secondFactor.outdated':
    'Dieser Schritt hat zu lange gedauert, oder der zweite Schritt wurde in einem anderen Fenster geändert. Beginnen Sie erneut.',
  'secondFactor.back': 'Zurück zu Ihrem Konto',

  'error.details': 'Einzelheiten für die Entwicklung der App',
  'error.app.title': 'Die App hat eine ungültige Anfrage gesendet',
  'error.app.advice':
    'Sie haben nichts falsch gemacht, und es wurden keine Daten weitergegeben. Die Entwicklung der App muss die Anfrage anhand der folgenden Einzelheiten korrigieren.',
  'error.interaction_expired.title': 'Diese Seite ist nicht mehr gültig',
  'error.interaction_expired.advice':
    'Die Seite ist abgelaufen, oder Sie haben den Vorgang bereits abgeschlossen. Kehren Sie zur App zurück und beginnen Sie dort erneut.',
  'error.other_browser.title': 'Diese Seite gehört zu einem anderen Browser',
  'error.other_browser.advice':
    'Schließen Sie die Anmeldung in dem Browser ab, in dem Sie sie begonnen haben, und erlauben Sie dort Cookies. Kehren Sie zur App zurück und beginnen Sie dort erneut.',
  'error.wrong_step.title': 'Dieser Schritt ist bereits abgeschlossen',
  'error.wrong_step.advice': 'Kehren Sie zur App zurück und beginnen Sie dort erneut.',
  'error.form_refused.title': 'Wir konnten Ihre Anfrage nicht überprüfen',
  'error.form_refused.advice':
    'Es wurde nichts geändert. Erlauben Sie Cookies für diese Website, kehren Sie zur App zurück und beginnen Sie dort erneut.',
  'error.form_unreadable.title': 'Wir konnten Ihr Formular nicht lesen',
  'error.form_unreadable.advice':
    'Es wurde nichts geändert. Kehren Sie zur App zurück und beginnen Sie dort erneut.',
  'error.link_invalid.title': 'Dieser Link ist nicht mehr gültig',
  'error.link_invalid.advice':
    'Ein Link funktioniert einmal und nur für begrenzte Zeit. Bitten Sie den Betreiber dieses Dienstes um einen neuen Link.',
  'error.too_many_attempts.title': 'Zu viele Versuche',
  'error.too_many_attempts.advice':
    'Zum Schutz des Kontos ist die Anmeldung für einige Minuten gesperrt. Warten Sie, gehen Sie dann zurück und versuchen Sie es erneut.',
  'error.rate_limited.title': 'Zu viele Anmeldungen wurden begonnen',
  'error.rate_limited.advice':
    'Aus Ihrem Netzwerk wurden zu viele Anmeldungen begonnen. Es wurden keine Daten weitergegeben. Warten Sie einige Minuten, kehren Sie dann zur App zurück und beginnen Sie dort erneut.',
  'error.busy.title': 'Zurzeit melden sich viele Personen an',
  'error.busy.advice':
    'Es wurde nichts geändert. Gehen Sie zurück, warten Sie einige Sekunden und versuchen Sie es erneut.',
  'error.temporarily_unavailable.title': 'Die Anmeldung ist zurzeit nicht möglich',
  'error.temporarily_unavailable.advice':
    'Der Fehler liegt auf unserer Seite. Es wurde nichts geändert. Warten Sie einen Moment, gehen Sie zurück und versuchen Sie es erneut.',
  'error.server_error.title': 'Auf unserer Seite ist ein Fehler aufgetreten',
  'error.server_error.advice':
    'Es wurden keine Daten weitergegeben. Kehren Sie zur App zurück und versuchen Sie es erneut. Wenn der Fehler erneut auftritt, wenden Sie sich an den Betreiber dieses Dienstes und nennen Sie die unten stehende Kennung der Anfrage.',
}
