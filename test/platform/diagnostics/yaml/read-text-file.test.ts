import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readTextFile } from '../../../../platform/diagnostics/yaml/read-text-file.ts'
import { readTextSource, readTextSourceAsync } from '../../../../platform/diagnostics/yaml/text-source.ts'

t.test(
  'readTextSource() and readTextSourceAsync() return the text, or the reason for the failure',
  async (t) => {
    const dir = t.testdir({
      folder: {},
      text: 'a: é\r\n',
      empty: '',
      loop: t.fixture('symlink', 'loop'),
      large: 'x'.repeat(262_144),
      'too-large': 'x'.repeat(262_145),
    })
    const bytes = (name: string, hex: string): void => writeFileSync(join(dir, name), Buffer.from(hex, 'hex'))
    bytes('mark', 'efbbbf61')
    bytes('utf16le', 'fffe6100')
    bytes('utf16be', 'feff0061')
    bytes('latin1', '61e9')
    bytes('late-mark', '61fffe')
    for (const [name, source] of [
      ['text', { text: 'a: é\r\n' }],
      ['empty', { text: '' }],
      ['mark', { text: 'a' }],
      ['large', { text: 'x'.repeat(262_144) }],
      ['too-large', { fault: 'too_large', bytes: 262_145, limit: 262_144 }],
      ['folder', { fault: 'folder' }],
      ['utf16le', { fault: 'utf16' }],
      ['utf16be', { fault: 'utf16' }],
      ['latin1', { fault: 'not_utf8' }],
      ['late-mark', { fault: 'not_utf8' }],
      ['nowhere', { fault: 'unreadable', code: 'ENOENT' }],
      ['text/below', { fault: 'unreadable', code: 'ENOTDIR' }],
      ['loop', { fault: 'unreadable', code: 'ELOOP' }],
    ] as const) {
      t.strictSame(readTextSource(join(dir, name)), source, name)
      t.strictSame(await readTextSourceAsync(join(dir, name)), source, name)
    }
    t.strictSame(readTextSource(join(dir, 'text'), 6), { fault: 'too_large', bytes: 7, limit: 6 })
    t.strictSame(readTextSource(join(dir, 'text'), 7), { text: 'a: é\r\n' })
    t.strictSame(readTextSource('/dev/null'), { fault: 'irregular' })
    t.strictSame(await readTextSourceAsync('/dev/null'), { fault: 'irregular' })
  },
)

t.test('readTextFile() explains each failure and its remedy', async (t) => {
  const naming = { shownAs: 'config/a.yaml', letter: 'O' } as const
  for (const [source, code, message, hint] of [
    [{ fault: 'folder' }, 'O001', 'this is a folder, not a file', 'give the path of a YAML file'],
    [{ fault: 'irregular' }, 'O001', 'this is not a regular file', 'give the path of a YAML file'],
    [
      { fault: 'too_large', bytes: 9, limit: 8 },
      'O003',
      'the file has 9 bytes, more than 8',
      'split the file into smaller files',
    ],
    [{ fault: 'utf16' }, 'O004', 'the file is UTF-16 text', 'save the file as UTF-8'],
    [{ fault: 'not_utf8' }, 'O004', 'the file is not UTF-8 text', 'save the file as UTF-8'],
    [
      { fault: 'unreadable', code: 'ENOENT' },
      'O001',
      'the file does not exist',
      'create the file, or correct the path',
    ],
    [
      { fault: 'unreadable', code: 'ENOTDIR' },
      'O001',
      'the file does not exist',
      'create the file, or correct the path',
    ],
    [
      { fault: 'unreadable', code: 'EACCES' },
      'O001',
      'permission denied',
      'grant read permission to the user of this process',
    ],
    [
      { fault: 'unreadable', code: 'EPERM' },
      'O001',
      'permission denied',
      'grant read permission to the user of this process',
    ],
    [{ fault: 'unreadable', code: 'ELOOP' }, 'O001', 'the symbolic link is circular', 'correct the link'],
    [{ fault: 'unreadable', code: 'EIO' }, 'O001', 'the file cannot be read (EIO)', undefined],
  ] as const)
    t.strictSame(readTextFile('/nowhere', naming, source), {
      problem: {
        code,
        severity: 'error',
        message,
        location: { file: 'config/a.yaml', line: undefined, column: undefined, length: 1, text: undefined },
        hint,
        related: [],
      },
    })
  t.strictSame(readTextFile('/nowhere', naming, { text: 'a' }), { text: 'a' })
  const file = join(t.testdir({ a: 'b' }), 'a')
  t.strictSame(readTextFile(file, naming), { text: 'b' })
})
