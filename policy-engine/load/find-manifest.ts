import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'

/**
 * Detects a Kubernetes manifest in place of a policy. Otherwise each of its keys would cause a separate diagnostic.
 * Code: P102.
 */
export function findManifest(document: YamlDocument): Diagnostic | undefined {
  const { apiVersion, kind, metadata } = (document.value ?? {}) as Readonly<Record<string, unknown>>
  const isManifest =
    typeof kind === 'string' &&
    kind !== 'Policy' &&
    typeof apiVersion === 'string' &&
    !apiVersion.startsWith('scopegate/') &&
    typeof metadata === 'object'
  if (!isManifest) return undefined
  const message = `this is a Kubernetes ${kind}, not a policy`
  return diagnostic('P102', message, document.placeOf(['kind']), {
    hint: 'use the policy itself: the text of one key in its data',
  })
}
