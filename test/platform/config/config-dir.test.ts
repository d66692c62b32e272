import { join, resolve } from 'node:path'
import t from 'tap'
import { findConfigDir } from '../../../platform/config/config-dir.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'

t.test(
  'findConfigDir() returns the folder in SCOPEGATE_CONFIG_DIR, or the shipped folder by default',
  async (t) => {
    const shipped = join(findPackageRoot(), 'config')
    t.equal(findConfigDir({}), shipped)
    t.equal(findConfigDir({ SCOPEGATE_CONFIG_DIR: '' }), shipped)
    t.equal(findConfigDir({ SCOPEGATE_CONFIG_DIR: '/etc/scopegate' }), '/etc/scopegate')
    t.equal(findConfigDir({ SCOPEGATE_CONFIG_DIR: 'mine' }), resolve('mine'))
  },
)
