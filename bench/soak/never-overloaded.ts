/**
 * Settings of config/gateway.yaml with long limits, because a busy machine must not cause overload rejections during a
 * test.
 */
export const NEVER_OVERLOADED = { overload: { loopDelay: { close: '30s', refuse: '60s' } } }
