import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 allocate every object in the young generation, for the life of the process. Call it first in the entry
 * point. By default, V8 records allocation sites whose objects survived, and allocates their later objects in the old
 * generation. After requests have had to wait, this rule also affects the objects of each later request. Dead old
 * objects keep young objects alive, so that almost no request memory is freed before a full garbage collection
 * (docs/decisions/0013-disable-allocation-site-pretenuring.md).
 */
export function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
