/** The files that `scopegate init` writes in addition to the copied configuration, by path. */
export const STARTER_FILES: Readonly<Record<string, string>> = {
  'config/scopes.yaml': `# yaml-language-server: $schema=../schemas/scopes.v1.json
# The scope catalogue. Policies may use only these scopes. The consent page shows the descriptions, in this order.
scopes:
  - name: openid
    description: Sign you in
    group: Identity
    sensitivity: identity
  - name: courses:read
    description: See courses and their lessons
    group: Courses
    sensitivity: read
  - name: courses:write
    description: Create, change and delete courses
    group: Courses
    sensitivity: write
`,
  'policies/courses.policy.yaml': `# yaml-language-server: $schema=../schemas/policy.v1.json
# Routes to one upstream, and the scopes that their tokens need. One file for each team or service.
apiVersion: scopegate/v1
kind: Policy
name: courses
owner: my-team
upstream: learning-platform # an entry of config/upstreams.yaml

defaults:
  anonymous: challenge # no token: 401 with a challenge, which describes how to get a token
  timeout: 5s

routes:
  - name: list-courses
    match: { methods: [GET], path: /api/courses }
    anonymous: allow
    scopes: { all: [courses:read] }

  - name: read-course
    match: { methods: [GET], path: "/api/courses/{id}" }
    scopes: { all: [courses:read] }

  - name: change-course
    match: { methods: [POST, PUT, PATCH, DELETE], path: "/api/courses/{id}" }
    scopes: { all: [courses:write] }

tests:
  - it: lists courses without a token
    request: { method: GET, path: /api/courses }
    expect: { decision: allow, as: anonymous, route: list-courses }
  - it: challenges a request without a token
    request: { method: GET, path: /api/courses/42 }
    expect: { decision: challenge, status: 401 }
  - it: reads a course with courses:read
    request: { method: GET, path: /api/courses/42 }
    token: { scope: courses:read }
    expect: { decision: allow, route: read-course }
  - it: denies a change with only courses:read
    request: { method: PATCH, path: /api/courses/42 }
    token: { scope: courses:read }
    expect: { decision: deny, status: 403, error: insufficient_scope, missing: [courses:write] }
`,
  'README.md': `# Our gateway

\`config/\` belongs to operators and differs between environments. \`policies/\` belongs to backend teams and is the same in
every environment. \`schemas/\` contains the JSON Schemas of these files; editors with a YAML language server use them.

\`\`\`sh
npx scopegate check                # validates configuration and policies
npx scopegate test --coverage      # runs the tests in policies
npx scopegate explain PATCH /api/courses/42 --scope courses:read
npx scopegate fmt                  # formats policies
npx scopegate dev                  # runs everything on this machine; sign in as alice / alice
\`\`\`

\`npx scopegate\` needs the package in \`node_modules\` of this folder or of a folder above. In a checkout of
Scopegate, run \`check\`, \`test\`, \`explain\` and \`dev\` in the folder of the checkout, with \`--config\` and the path of the
folder \`config\`.

Next: add your API to \`config/upstreams.yaml\` and its scopes to \`config/scopes.yaml\`. Then write
\`policies/<team>.policy.yaml\` with routes and tests.

The \`docs\` folder of the scopegate package holds the documentation.
`,
  '.gitignore': `# Accounts, grants and secrets of \`scopegate dev\`
.scopegate/
`,
}

/** Removes the references to documents of this package, which the new folder does not have. */
export function withoutDocumentReferences(text: string): string {
  // A line of a comment can consist of a reference. The sentence then ends with the line above.
  return text.replace(/(?:\n *#(?= \([^)]*\)\.$))? \((?:see )?(?:docs\/[a-z-]+|README)\.md\)/gm, '')
}

/** Configuration files that are copied from this package, with the comment of each key. */
export const COPIED_FILES: readonly string[] = [
  'config/gateway.yaml',
  'config/authorization-server.yaml',
  'config/presets.yaml',
  'config/upstreams.yaml',
]
