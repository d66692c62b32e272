/** Settings of config/gateway.yaml that prevent overload reactions on a busy machine, because the test counts other events. */
export const NEVER_OVERLOADED = { overload: { loopDelay: { close: '30s', refuse: '60s' } } }
