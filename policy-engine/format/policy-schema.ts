import {
  type EditorSchema,
  editorSchema,
  type Snippets,
} from '../../platform/diagnostics/schema/editor-schema.ts'
import { PolicyFileSchema } from './policy-file.ts'
import { PolicyTestFileSchema } from './policy-test-file.ts'

const SNIPPETS: Snippets = {
  routes: {
    label: 'a route',
    body: {
      name: '$1',
      match: { methods: ['$2'], path: '$3' },
      anonymous: '$4',
      scopes: { all: ['$5'] },
    },
  },
  tests: {
    label: 'a test',
    body: {
      it: '$1',
      request: { method: '$2', path: '$3' },
      token: { scope: '$4' },
      expect: { decision: '$5' },
    },
  },
}

/** Returns the JSON Schema of policies or of test files for editors. */
export function policySchema(kind: 'Policy' | 'PolicyTest'): EditorSchema {
  return kind === 'Policy'
    ? editorSchema(PolicyFileSchema, { name: 'policy', title: kind, snippets: SNIPPETS })
    : editorSchema(PolicyTestFileSchema, { name: 'policy-test', title: kind, snippets: SNIPPETS })
}
