import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { until } from '../fixtures/until.ts'
import { type Image, readImage } from './image.ts'
import type { Container, KubeObject, PodSpec, Probe, Volume } from './kube-object.ts'
import { find } from './render-chart.ts'

/** The objects, volumes and host names that a pod uses. */
export type Cluster = {
  readonly objects: readonly KubeObject[]
  /** Folders with the content of image volumes, by the name of the volume. */
  readonly imageVolumes?: Readonly<Record<string, string>>
  /** Folders of persistent volume claims. */
  readonly claims?: Readonly<Record<string, string>>
  /** Names that resolve to this machine, for example names of Services. */
  readonly hosts: readonly string[]
  /** Images by the name of their container. Default: the files of this checkout. */
  readonly images?: Readonly<Record<string, Image>>
}

/** The container of the pod runs as a process of this machine. */
export type Pod = {
  /**
   * Sends the probes of the kubelet at shorter intervals until the status is 200.
   * @throws {Error} when the number of failures reaches the failure threshold, or the container exits.
   */
  probe(name: 'startupProbe' | 'livenessProbe' | 'readinessProbe'): Promise<void>
  address(port: string): string
  /** Returns all output of the container until now. */
  output(): string
  /** Runs another command in the container. `kubectl exec --stdin` has the same effect. */
  exec(command: readonly string[], input: string): { readonly status: number | null; readonly output: string }
  /**
   * Sends SIGTERM, then SIGKILL at the end of the grace period.
   * @returns the exit code, or the signal that ended the process.
   */
  stop(): Promise<number | string>
  /** Ends the container with SIGKILL after a failed test. */
  kill(): void
}

const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64']
// The value of PATH in the base image.
const STANDARD_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom']

/** Options of a container that runs as a process of this machine. */
export type ContainerOptions = {
  readonly name: string
  readonly image: Image
  /** Names that resolve to this machine, for example names of Services. */
  readonly hosts: readonly string[]
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly readOnlyRoot: boolean
  /** Whether the command is process 1, as in a container. Process 1 ignores signals without a handler. Default: false. */
  readonly isFirstProcess?: boolean
  /** Folders and files of this machine, and their mount paths. */
  readonly mounts: readonly { readonly folder: string; readonly path: string; readonly readOnly: boolean }[]
}

/** `exec` runs another command in the container. */
export type RunningContainer = { readonly child: ChildProcess; readonly exec: Pod['exec'] }

/**
 * Runs the pod of a Deployment as a process, with the rendered command, arguments, environment, user and group. The
 * rendered paths of ConfigMaps and Secrets are directories. Memory limits and seccomp have no effect. Requires root, in
 * separate mount and network namespaces.
 */
export function startPod(deployment: KubeObject, cluster: Cluster): Pod {
  const pod = deployment.spec?.template?.spec
  const [container] = pod?.containers ?? []
  if (pod === undefined || container === undefined)
    throw new Error(`${deployment.metadata.name} has no container`)
  const image = cluster.images?.[container.name] ?? readImage(container.name)
  const owner = {
    uid: pod.securityContext?.runAsUser ?? image.user.uid,
    gid: pod.securityContext?.runAsGroup ?? image.user.gid,
  }
  if (pod.securityContext?.fsGroup !== owner.gid)
    throw new Error('the harness supports only an fsGroup that is the group of the process')
  const mounts = (container.volumeMounts ?? []).map((mount) => {
    const volume = pod.volumes?.find((one) => one.name === mount.name)
    if (volume === undefined) throw new Error(`no volume ${mount.name}`)
    const isWritable = volume.emptyDir !== undefined || volume.persistentVolumeClaim !== undefined
    return {
      folder: makeVolume(volume, cluster, owner.gid),
      path: mount.mountPath,
      readOnly: mount.readOnly === true || !isWritable,
    }
  })
  const { child, exec } = startContainer({
    ...{ name: container.name, image, hosts: cluster.hosts, owner, mounts },
    command: [...(container.command ?? image.entrypoint), ...(container.args ?? [])],
    env: makeEnvironment(container, cluster),
    readOnlyRoot: container.securityContext?.readOnlyRootFilesystem === true,
  })
  return { ...watch(child, pod, container), exec }
}

/**
 * Runs a container as a process with the given command, environment, user and group. The process sees only the files of
 * the image and the mounts. Requires root, in a separate mount namespace.
 */
export function startContainer(options: ContainerOptions): RunningContainer {
  const { name, image, owner, mounts } = options
  const root = mkdtempSync(join(tmpdir(), `${name}-`))
  makeRoot(root, image, options.hosts)
  for (const { folder, path } of mounts) makeMountPoint(folder, join(root, path))
  if (options.readOnlyRoot) run('mount', '-o', 'remount,bind,ro', root)
  for (const { folder, path, readOnly } of mounts) {
    run('mount', '--bind', folder, join(root, path))
    if (readOnly) run('mount', '-o', 'remount,bind,ro', join(root, path))
  }
  const env = { PATH: STANDARD_PATH, HOSTNAME: name, ...image.env, ...options.env }
  const enter = (command: readonly string[]): readonly string[] => [
    '--no-new-privs',
    // `env` removes the variables that the test runner adds to every child process.
    ...['env', '--ignore-environment', ...Object.entries(env).map((one) => one.join('='))],
    ...['unshare', `--root=${root}`, `--wd=${image.workdir}`],
    ...(options.isFirstProcess === true ? ['--pid', '--fork'] : []),
    ...[`--setgid=${owner.gid}`, `--setuid=${owner.uid}`, '--', ...command],
  ]
  const child = spawn('setpriv', enter(options.command), { stdio: ['ignore', 'pipe', 'pipe'] })
  const exec: Pod['exec'] = (command, input) => {
    const { status, stdout, stderr } = spawnSync('setpriv', enter(command), { input, encoding: 'utf8' })
    return { status, output: `${stdout}${stderr}` }
  }
  return { child, exec }
}

function watch(child: ChildProcess, pod: PodSpec, container: Container): Omit<Pod, 'exec'> {
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  let ended: number | string | undefined
  const end = new Promise<number | string>((resolve) => {
    child.on('exit', (code, signal) => {
      ended = code ?? signal ?? 'unknown'
      resolve(ended)
    })
  })
  const address = (port: string | number): string => {
    const number =
      typeof port === 'number' ? port : container.ports?.find((one) => one.name === port)?.containerPort
    if (number === undefined) throw new Error(`${container.name} has no port ${port}`)
    return `http://127.0.0.1:${number}`
  }
  return {
    address,
    output: () => output,
    async probe(name) {
      const probe: Probe | undefined = container[name]
      if (probe === undefined) throw new Error(`${container.name} has no ${name}`)
      const url = `${address(probe.httpGet.port)}${probe.httpGet.path}`
      const isOk = async (): Promise<boolean> => {
        if (ended !== undefined) throw new Error(`the container ended with ${ended}`)
        const response = await fetch(url).catch(() => undefined)
        await response?.text()
        return response?.status === 200
      }
      const limitMs = probe.periodSeconds * probe.failureThreshold * 1_000
      await until(`${container.name}: ${name} succeeds`, isOk, limitMs).catch((cause: Error) => {
        throw new Error(`${cause.message}\n${output}`, { cause })
      })
    },
    kill() {
      child.kill('SIGKILL')
    },
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), (pod.terminationGracePeriodSeconds ?? 30) * 1000)
      const code = await end
      clearTimeout(late)
      return code
    },
  }
}

/** Mounts the built image or the shared libraries of this machine at a root folder, and adds devices and hosts. */
function makeRoot(root: string, image: Image, hosts: readonly string[]): void {
  if (image.root === undefined) mountLibraries(root)
  else run('mount', '--bind', image.root, root)
  for (const device of DEVICES) bind(device, join(root, device))
  mkdirSync(join(root, 'proc'), { recursive: true })
  run('mount', '-t', 'proc', 'proc', join(root, 'proc'))
  writeFileSync(join(root, 'etc/hosts'), `127.0.0.1 localhost ${hosts.join(' ')}\n`)
  for (const { from, to } of image.copies) bindReadOnly(from, join(root, to))
}

/** Creates a root folder with the shared libraries and the Node.js of this machine, without a shell. */
function mountLibraries(root: string): void {
  run('mount', '-t', 'tmpfs', '-o', 'mode=0755', 'root', root)
  for (const folder of LIBRARIES) {
    if (!existsSync(folder)) continue
    mkdirSync(dirname(join(root, folder)), { recursive: true })
    if (lstatSync(folder).isSymbolicLink()) symlinkSync(readlinkSync(folder), join(root, folder))
    else bindReadOnly(folder, join(root, folder))
  }
  bindReadOnly(process.execPath, join(root, 'usr/local/bin/node'))
  mkdirSync(join(root, 'etc'))
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files\n')
}

function makeEnvironment(container: Container, cluster: Cluster): Record<string, string> {
  const env: Record<string, string> = {}
  for (const { name, value, valueFrom } of container.env ?? []) {
    env[name] =
      valueFrom === undefined ? (value ?? '') : readSecret(cluster, valueFrom.secretKeyRef).toString()
  }
  return env
}

function makeVolume(volume: Volume, cluster: Cluster, gid: number): string {
  if (volume.persistentVolumeClaim !== undefined) {
    const folder = cluster.claims?.[volume.persistentVolumeClaim.claimName]
    if (folder === undefined) throw new Error(`no claim ${volume.persistentVolumeClaim.claimName}`)
    return folder
  }
  if (volume.image !== undefined) {
    const folder = cluster.imageVolumes?.[volume.name]
    if (folder === undefined) throw new Error(`no content of the image volume ${volume.name}`)
    return folder
  }
  const folder = mkdtempSync(join(tmpdir(), `volume-${volume.name}-`))
  chownSync(folder, 0, gid)
  if (volume.emptyDir !== undefined) {
    chmodSync(folder, 0o2777) // the kubelet sets this mode with fsGroup
    return folder
  }
  chmodSync(folder, 0o755)
  const sources = volume.projected?.sources ?? [{ configMap: volume.configMap }]
  const files = sources.flatMap((source): readonly (readonly [string, Buffer])[] => {
    if ('secret' in source && source.secret !== undefined) {
      const { name = '', items } = source.secret
      const keys = items ?? []
      return keys.map((item) => [item.path, readSecret(cluster, { name, key: item.key })])
    }
    const data = find(cluster.objects, 'ConfigMap', source.configMap?.name ?? '').data ?? {}
    return Object.entries(data).map(([file, text]) => [file, Buffer.from(text)])
  })
  // The folder has the layout that a kubelet creates: symbolic links to the files of one version. The kubelet replaces
  // the link `..data` and thereby updates all files at once.
  const version = '..2026_01_01_00_00_00.000000001'
  mkdirSync(join(folder, version))
  symlinkSync(version, join(folder, '..data'))
  for (const [file, content] of files) {
    const path = join(folder, version, file)
    writeFileSync(path, content)
    chownSync(path, 0, gid)
    chmodSync(path, volume.projected?.defaultMode ?? 0o644)
    symlinkSync(join('..data', file), join(folder, file))
  }
  return folder
}

function readSecret(cluster: Cluster, { name, key }: { name: string; key: string }): Buffer {
  const value = find(cluster.objects, 'Secret', name).data?.[key]
  if (value === undefined) throw new Error(`Secret ${name} has no key ${key}`)
  return Buffer.from(value, 'base64')
}

function bindReadOnly(from: string, to: string): void {
  bind(from, to)
  run('mount', '-o', 'remount,bind,ro', to)
}

function bind(from: string, to: string): void {
  makeMountPoint(from, to)
  run('mount', '--bind', from, to)
}

/** Creates a folder or an empty file, which has the same kind as `from`. */
function makeMountPoint(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  if (statSync(from).isDirectory()) mkdirSync(to, { recursive: true })
  else writeFileSync(to, '')
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
}
