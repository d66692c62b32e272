/** The English texts of all pages. `{name}` stands for a value. The other languages have the same keys and values. */
export const EN = {
  'page.request': 'Request {id}',
  'page.help': 'Help',
  'page.terms': 'Terms',
  'page.privacy': 'Privacy',

  'signIn.title': 'Sign in',
  'signIn.failedTitle': 'Sign in: try again',
  'signIn.continueTo': 'to continue to {app}',
  'signIn.unnamedApp': 'an app without a name',
  'signIn.wrong': 'User name or password is wrong. Check both and try again.',
  'signIn.username': 'User name',
  'signIn.password': 'Password',
  'signIn.submit': 'Sign in',
  'signIn.cancel': 'Cancel',
  'signIn.withProvider': 'Sign in with {title}',
  'signIn.unknownProvider': 'This way to sign in does not exist. Choose another one.',
  'signIn.usedResponse': 'This sign-in expired or is already complete. Start again.',
  'signIn.unavailable': '{title} does not respond. Wait a moment and try again, or sign in another way.',
  'signIn.invalid':
    'The response of {title} is not valid, so you are not signed in. Try again. If it happens again, tell the operator of this service.',
  'signIn.denied': 'You are not signed in: {title} did not complete the sign-in. Try again.',
  'signIn.notAdmitted':
    'Your {title} account may not use {service}. Use another account, or ask the operator for access.',
  'signIn.disabled': 'Your account of {service} is disabled. Ask the operator for access.',

  'consent.title': 'Allow access?',
  'consent.heading': '{app} wants to use your account',
  'consent.unnamedApp': 'An app without a name',
  'consent.verified': 'Verified',
  'consent.knownApp': 'The operator of {service} knows this app.',
  'consent.notVerified': 'Not verified',
  'consent.unknownApp': 'Anybody can register an app under this name.',
  'consent.host': 'This app belongs to {host}.',
  'consent.hostAndName': 'This app belongs to {host} and uses the name {name}.',
  'consent.unknownName': 'The operator of {service} did not check this name.',
  'consent.claimedHost':
    'This app says that it belongs to {host}. Every app on this computer can say the same.',
  'consent.claimedHostAndName':
    'This app says that it belongs to {host} and uses the name {name}. Every app on this computer can say the same.',
  'consent.account': 'You are signed in as',
  'consent.switchAccount': 'Not you? Switch account',
  'consent.target': 'You will be sent to',
  'consent.thisComputer': 'an app on this computer',
  'consent.unknownTarget': 'an unknown target',
  'consent.duration': 'Access lasts',
  'consent.lasts': 'At most {max}.',
  'consent.lastsUnused': 'At most {max}, or {idle} without use.',
  'consent.removal': 'You can end it earlier on {account}.',
  'consent.accountPage': 'your account page',
  'consent.thisDevice': 'Continue only if you just started this sign-in from an app on this device.',
  'consent.signInOnly': 'This app learns only that you signed in.',
  'consent.scopes': 'It will be able to',
  'consent.nothingChosen': 'Select at least one box, or cancel.',
  'consent.manyWrites':
    'This app asks for {count} permissions to change data. Select the permissions that you want to allow.',
  'consent.everything': 'Everything',
  'consent.all': 'All{ofGroup}',
  'consent.ofGroup': ' of {group}',
  'consent.canChange': 'can change',
  'consent.includes': 'This includes: {scopes}.',
  'consent.selected': 'Selected: {count} of {total}',
  'consent.selectedWrites': 'Selected: {count} of {total}, {writes} can change data',
  'consent.allow': 'Allow',
  'consent.cancel': 'Cancel',

  'account.title': 'Your account',
  'account.own': 'your account',
  'account.signedInAs': 'You are signed in as',
  'account.since': 'In this browser since',
  'account.apps': 'Apps with access',
  'account.noApps': 'No app has access to your account.',
  'account.moreApps': '{count} more apps have access.',
  'account.removeAll': 'Remove all {count} apps',
  'account.removeEvery': 'Remove all apps',
  'account.newestGrants':
    'You allowed access very often. This page shows only the {count} newest permissions. More apps can have access.',
  'account.remove': 'Remove access',
  'account.times': 'Access since {first}. Last used: {last}.',
  'account.unknownTime': 'unknown',
  'account.signIn': 'Sign-in',
  'account.oneSession': 'Only this browser is signed in to your account.',
  'account.sessions': '{count} browsers are signed in to your account.',
  'account.appsKeepAccess': 'Apps keep their access when you sign out.',
  'account.signOut': 'Sign out',
  'account.signOutOthers': 'Sign out other browsers',
  'account.removed': 'The app has no access to your account any more.',
  'account.removedAll': 'No app has access to your account any more.',
  'account.signedOutOthers': 'All other browsers are signed out.',
  'account.signedOut': 'You are signed out',
  'account.signInAgain': 'Sign in to see your account',

  'logout.title': 'Sign out?',
  'logout.app': '{app} asks to sign you out in this browser.',
  'logout.unnamedApp': 'An app asks to sign you out in this browser.',
  'logout.stay': 'Stay signed in',

  'password.title': 'Set your password',
  'password.failedTitle': 'Set your password: try again',
  'password.account': 'for the account of {name} at {service}',
  'password.rules': 'The password must have {min} to {max} characters.',
  'password.new': 'New password',
  'password.repeated': 'New password again',
  'password.different': 'The two passwords are different. Type the same password twice.',
  'password.short': 'The password is too short: it must have at least {min} characters.',
  'password.long': 'The password is too long: it must have at most {max} characters.',
  'password.submit': 'Set password',
  'password.doneTitle': 'Your password is set',
  'password.invited': 'You can sign in now.',
  'password.reset':
    'You are signed out everywhere, and apps have no access to your account any more. Sign in with the new password.',

  'secondFactor.title': 'Type your code',
  'secondFactor.failedTitle': 'Type your code: try again',
  'secondFactor.account': 'to sign in as {name}',
  'secondFactor.hint':
    'Type the six digits that your authenticator app shows, or one of your recovery codes.',
  'secondFactor.code': 'Code',
  'secondFactor.submit': 'Continue',
  'secondFactor.wrong':
    'The code is wrong, or it was used already. Wait for the next code of the app and try again.',
  'secondFactor.expired': 'The sign-in took too long, or your account has changed. Sign in again.',
  'secondFactor.alreadySet':
    'Your authenticator app is set up already. Wait for its next code and type it. You can create new recovery codes on your account page.',
  'secondFactor.setUpTitle': 'Set up your authenticator app',
  'secondFactor.setUpFailedTitle': 'Set up your authenticator app: try again',
  'secondFactor.required': '{service} asks for a code from an authenticator app at each sign-in.',
  'secondFactor.addKey': 'Scan the picture with your authenticator app, or type the key into the app.',
  'secondFactor.picture': 'QR code of the key',
  'secondFactor.openApp': 'Add the key to an app on this device',
  'secondFactor.firstCode': 'Then type the six digits that the app shows.',
  'secondFactor.setUp': 'Set up',
  'secondFactor.recoveryTitle': 'Your recovery codes',
  'secondFactor.recovery':
    'Without your authenticator app, you can sign in with one of these codes. Each code works once.',
  'secondFactor.keepCodes': 'Write down the codes now, because no page shows them again.',
  'secondFactor.continue': 'I have written down the codes: continue',
  'secondFactor.manageTitle': 'Second step at sign-in',
  'secondFactor.off': 'You sign in with your password only.',
  'secondFactor.on':
    'You sign in with your password and a code of your authenticator app, since {since}. Unused recovery codes: {count}.',
  'secondFactor.begin': 'Set up an authenticator app',
  'secondFactor.replace': 'Use another app',
  'secondFactor.newRecovery': 'Create recovery codes',
  'secondFactor.remove': 'Remove the second step',
  'secondFactor.wrongEither':
    'The password or the code is wrong, or the code was used already. Check both and try again.',
  'secondFactor.wrongPassword': 'The password is wrong. Check it and try again.',
  'secondFactor.outdated':
    'This step took too long, or the second step was changed in another window. Start again.',
  'secondFactor.back': 'Back to your account',

  'error.details': 'Details for the app’s developer',
  'error.app.title': 'The app sent an invalid request',
  'error.app.advice':
    'You did nothing wrong, and nothing was shared. The developer of the app must correct the request with the details below.',
  'error.interaction_expired.title': 'This page is no longer valid',
  'error.interaction_expired.advice':
    'The page expired, or you finished already. Go back to the app and start again from there.',
  'error.other_browser.title': 'This page belongs to another browser',
  'error.other_browser.advice':
    'Finish sign-in in the browser where you started it, with cookies allowed. Go back to the app and start again from there.',
  'error.wrong_step.title': 'This step is already complete',
  'error.wrong_step.advice': 'Go back to the app and start again from there.',
  'error.form_refused.title': 'We could not verify your request',
  'error.form_refused.advice':
    'Nothing was changed. Allow cookies for this site, go back to the app and start again from there.',
  'error.form_unreadable.title': 'We could not read your form',
  'error.form_unreadable.advice': 'Nothing was changed. Go back to the app and start again from there.',
  'error.link_invalid.title': 'This link is no longer valid',
  'error.link_invalid.advice':
    'A link works once, and only for a limited time. Ask the operator of this service for a new link.',
  'error.too_many_attempts.title': 'Too many attempts',
  'error.too_many_attempts.advice':
    'Sign-in is paused for a few minutes to protect the account. Wait, then go back and try again.',
  'error.rate_limited.title': 'Too many sign-ins were started',
  'error.rate_limited.advice':
    'Too many sign-ins were started from your network. Nothing was shared. Wait a few minutes, then go back to the app and start again from there.',
  'error.busy.title': 'Many people are signing in right now',
  'error.busy.advice': 'Nothing was changed. Go back, wait a few seconds and try again.',
  'error.temporarily_unavailable.title': 'Sign-in does not work right now',
  'error.temporarily_unavailable.advice':
    'The problem is on our side. Nothing was changed. Wait a moment, go back and try again.',
  'error.server_error.title': 'Something went wrong on our side',
  'error.server_error.advice':
    'Nothing was shared. Go back to the app and try again. If the error happens again, tell the operator of this service and quote the request ID below.',
} as const

export type MessageKey = keyof typeof EN

/** The texts of one language. A missing or unknown key is a compile error. */
export type Texts = { readonly [Key in MessageKey]: string }
