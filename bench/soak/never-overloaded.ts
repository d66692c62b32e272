/** Settings of config/gateway.yaml under which a busy machine does not look like overload: what is counted is something else. */
export const NEVER_OVERLOADED = { overload: { loopDelay: { close: '30s', refuse: '60s' } } }
