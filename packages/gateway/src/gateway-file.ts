// `<home>/run/gateway-<port>.json`: where a gateway of this home listens. The gateway writes it, and the
// commands of this home read it. A file whose process is dead names no gateway, but the port that the home had
// last: the next gateway takes it again, so that an open page and a bookmark find it. Only the owner of the
// home can read it.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, makeFolder, startOf } from '@beaver/platform'

interface GatewayFile {
  readonly pid: number
  /** The start of the process as the kernel counts it. */
  readonly process_start: string | null
  readonly url: string
  readonly port: number
  /** Whether the gateway looked for its port, because the configuration names none. */
  readonly port_found: boolean
  readonly started_at: string
}

const folderOf = (home: string): string => join(home, 'run')
const fileOf = (home: string, port: number): string => join(folderOf(home), `gateway-${port}.json`)

/** The gateways of this home that run. The first one runs the longest. */
export const runningGateways = (home: string): readonly { readonly url: string; readonly pid: number }[] =>
  filesOf(home).filter(isRunning)

/** The port of the first gateway of a machine, if its configuration names none. */
export const usualPort = 20_000

/** The port that the next gateway of this home tries first, if the configuration names none. */
export const firstPort = (home: string): number => lastPort(home) ?? usualPort

/**
 * The port that a gateway of this home found before; `null` if there was none, or if it still has it. Of
 * several, it is the one of the gateway that started first: usually that of `beaver up`.
 */
export function lastPort(home: string): number | null {
  const found = filesOf(home).filter((each) => each.port_found && !isRunning(each))
  return found[0]?.port ?? null
}

/** Says where this process listens. @returns takes it back, except for the port of the next gateway */
export function writeGatewayFile(
  home: string,
  at: Pick<GatewayFile, 'url' | 'port' | 'port_found' | 'started_at'>,
): () => void {
  makeFolder(folderOf(home))
  const others = at.port_found ? filesOf(home).filter((each) => each.port_found && !isRunning(each)) : []
  for (const { port } of others) rmSync(fileOf(home, port), { force: true })
  const file = fileOf(home, at.port)
  const content: GatewayFile = { pid: process.pid, process_start: startOf(process.pid), ...at }
  const write = (gateway: GatewayFile): void => {
    writeFileSync(`${file}.tmp`, `${JSON.stringify(gateway, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.tmp`, file)
  }
  write(content)
  return () => (at.port_found ? write({ ...content, pid: 0 }) : rmSync(file, { force: true }))
}

const isRunning = ({ pid, process_start }: GatewayFile): boolean =>
  pid !== 0 && isAlive({ pid, started: process_start })

/** The files, the one of the gateway that started first at the beginning. */
function filesOf(home: string): readonly GatewayFile[] {
  const folder = folderOf(home)
  const files = namesIn(folder).flatMap((name) =>
    /^gateway-\d+\.json$/.test(name) ? (read(join(folder, name)) ?? []) : [],
  )
  return files.toSorted((a, b) => (a.started_at < b.started_at ? -1 : 1))
}

function read(file: string): GatewayFile | null {
  try {
    const {
      pid,
      process_start = null,
      url,
      port,
      ...of
    } = JSON.parse(readFileSync(file, 'utf8')) as Partial<GatewayFile>
    if (typeof pid !== 'number' || typeof port !== 'number' || typeof url !== 'string') return null
    const { port_found = false, started_at = '' } = of
    return { pid, process_start, url, port, port_found, started_at }
  } catch {
    return null // It was removed just now, or somebody else wrote it.
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // Nothing ran in this home yet.
  }
}
