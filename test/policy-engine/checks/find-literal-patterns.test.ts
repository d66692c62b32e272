import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { detectPattern } from '../../../policy-engine/checks/find-literal-patterns.ts'
import { NO_PRESETS, readPresets } from '../../../policy-engine/format/presets.ts'
import { loadPolicies } from '../../../policy-engine/load/load-policies.ts'

t.test(
  'detectPattern() distinguishes templates, regular expressions and wildcards from plain texts',
  async (t) => {
    for (const [kind, texts] of [
      ['template', [`\${x}`, 'a-${x', '{{x}}', '{{ x }}', 'school-{id}', '%{x}', '$http_x_school', '$1x{y}']],
      [
        'regular expression',
        ['/x/', '/a|b/i', '/.*/', '^x', 'x+$', 'a[0-9]', '[^a-z]', '(a|b)', 'a.+', '\\d+', 'a\\.b', '.*x'],
      ],
      ['wildcard', ['*', 'a*', 'com.example.*', 'a**', '*@b.example', '/staff/*']],
      [
        undefined,
        [
          ...[
            '',
            '^',
            'gold',
            'CORP\\dana',
            '/staff/editors',
            '/staff',
            'US$',
            '$',
            '$5',
            'a.b',
            'a+b@c.example',
          ],
          ...['urn:x:y', 'https://a.example/b?c=d', '{', '{ "a": 1 }', 'v1.2 (beta)', '[x]', 'a-b', 'What?'],
        ],
      ],
    ] as const)
      for (const text of texts) t.equal(detectPattern(text), kind, text)
  },
)

t.test('detectPattern() is fast on long texts and returns no result for texts above its limit', async (t) => {
  for (const sign of ['[a-b', '(', '(|', '{a', '/|', '\\', '.*', '$']) {
    const long = sign.repeat(1_000_000)
    t.equal(detectPattern(long), undefined)
    detectPattern(long.slice(0, 1_024))
  }
})

t.test('the shipped policies contain no pattern in a literal value', async (t) => {
  const root = findPackageRoot()
  for (const [dir, presets] of [
    [join(root, 'policies'), readPresets(join(root, 'config', 'presets.yaml'))],
    [join(root, 'examples', 'mcp-server', 'policies'), NO_PRESETS],
  ] as const) {
    t.ok(readdirSync(dir).length > 0)
    t.same(
      loadPolicies({ dir, presets }).diagnostics.filter(({ code }) => code === 'P111'),
      [],
    )
  }
})
