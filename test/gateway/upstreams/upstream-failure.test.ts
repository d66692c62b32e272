import t from 'tap'
import { upstreamFailure } from '../../../gateway/upstreams/upstream-failure.ts'

t.test(
  'upstreamFailure() takes a machine without descriptors for an overloaded gateway, not for a sick upstream',
  async (t) => {
    for (const code of ['EMFILE', 'ENFILE', 'ENOBUFS'])
      t.match(
        upstreamFailure(Object.assign(new Error(code), { code })),
        {
          reason: 'descriptors',
          refusal: { refused: 'overloaded', retryAfterSeconds: 1 },
          retryCause: undefined,
        },
        code,
      )
  },
)
