import t from 'tap'
import type { ParsedArguments } from '../../cli/command.ts'
import { readArguments } from '../../cli/read-arguments.ts'

const COMMAND = {
  name: 'try',
  positionals: { usage: 'METHOD PATH', min: 1, max: 2 },
  options: [
    { name: 'config', value: 'DIR', description: 'A folder.' },
    { name: 'header', value: 'K=V', description: 'A header.', repeated: true },
    { name: 'format', value: 'FORMAT', description: 'How.', choices: ['pretty', 'github'] },
    { name: 'json', description: 'JSON.' },
  ],
}

const read = (...args: string[]) => readArguments(COMMAND, args)

function given(...args: string[]): ParsedArguments {
  const result = read(...args)
  if ('wrong' in result) throw new Error(result.wrong)
  return result.given
}

t.test('readArguments() reports an error and suggests a correction', async (t) => {
  for (const [args, wrong] of [
    [['GET', '--cofnig', 'x'], '`scopegate try` has no option --cofnig; did you mean --config?'],
    [['GET', '--jsno'], '`scopegate try` has no option --jsno; did you mean --json?'],
    [
      ['GET', '-j'],
      '`scopegate try` has no option -j; if "-j" is an argument, write it last, after --: scopegate try -- -j',
    ],
    [
      ['-jZ9_x', '--json'],
      '`scopegate try` has no option -j; if "-jZ9_x" is an argument, write it last, after --: scopegate try -- -jZ9_x',
    ],
    [
      ['GET', '--zebra=1'],
      '`scopegate try` has no option --zebra; if "--zebra=1" is an argument, write it last, after --: scopegate try -- --zebra=1',
    ],
    [['GET', '--config'], '--config takes a value: --config DIR'],
    [
      ['GET', '--config', '--json'],
      '--config takes a value, and "--json" looks like an option; if it is the value, write --config=--json',
    ],
    [['GET', '--json=yes'], '--json takes no value'],
    [['GET', '--config', 'a', '--config=b'], '--config must not be repeated'],
    [['GET', '--json', '--json'], '--json must not be repeated'],
    [['GET', '--format', 'githib'], '--format is one of pretty, github, not "githib"; did you mean github?'],
    [[], '`scopegate try` takes METHOD PATH, not nothing'],
    [['a', 'b', 'c'], '`scopegate try` takes METHOD PATH, not "a b c"'],
  ] as const)
    t.same(read(...args), { wrong }, args.join(' '))
  t.same(readArguments({ name: 'plain', options: [] }, ['x']), {
    wrong: '`scopegate plain` takes options only, not "x"',
  })
  t.same(readArguments({ name: 'plain', options: [] }, ['-x']), {
    wrong: '`scopegate plain` has no option -x',
  })
})

t.test(
  'readArguments() accepts options in any position, repeated options in order, and - as a value',
  async (t) => {
    const one = given('--header', 'a=1', 'GET', '--json', '--header=b=2=3', '/api', '--config', '-')
    t.same(one.positionals, ['GET', '/api'])
    t.same(one.texts('header'), ['a=1', 'b=2=3'])
    t.equal(one.text('config'), '-')
    t.equal(one.has('json'), true)
    t.equal(one.has('format'), false)
    t.equal(one.text('format'), undefined)
    t.same(given('GET').texts('header'), [])
  },
)

t.test(
  'readArguments() reads arguments after -- as positionals, and a value like an option after =',
  async (t) => {
    t.same(given('--', '--json', '-x').positionals, ['--json', '-x'])
    t.equal(given('GET', '--config=--odd').text('config'), '--odd')
    t.equal(given('GET', '--config=').text('config'), '')
  },
)

t.test('readArguments() reads an id that begins with - as a value', async (t) => {
  for (const id of [`-${'T'.repeat(42)}`, `--${'a-_9'.repeat(10)}b`]) {
    const one = given(id, '--config', id, '--json')
    t.same([one.positionals, one.text('config'), one.has('json')], [[id], id, true])
  }
  t.match(read('GET', `-${'T'.repeat(41)}`), { wrong: /has no option -T/ })
})
