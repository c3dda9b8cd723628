// `beaver trust`: shows what a folder asks for, accepts it, lists what was accepted, and takes consent back.
// It accepts exactly what it printed, because the digest is of the text that it read.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BeaverError } from '@beaver/core'
import {
  type FolderTrust,
  loadConfig,
  revokeTrust,
  trustedFolder,
  trustedFolders,
  trustFolder,
  trustLines,
  trustStoreFolder,
} from '@beaver/platform'
import type { GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { type Screen, screenOf } from '../screen.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

export interface TrustOptions {
  readonly always?: true
  readonly show?: true
  readonly list?: true
  readonly revoke?: true
  readonly json?: true
}

export async function trust(
  typedFolder: string | undefined,
  options: TrustOptions,
  globals: GlobalOptions,
): Promise<number> {
  const screen = screenOf({ colour: globals.color })
  if (globals.trust !== undefined || globals.config !== undefined)
    throw new UsageError('"beaver trust" takes a folder, and neither --config nor --[no-]trust.')
  const store = trustStoreFolder(process.env)
  if (options.list === true) return list(store, options, screen)
  const folder = resolve(typedFolder ?? '.')
  if (options.revoke === true) return revoke(store, folder, options, screen)
  const asked = readFolder(folder)
  if (options.show === true) return show(asked, options, screen)
  return accept(store, folder, { asked, options, screen })
}

/** What the folder asks for, independent of earlier decisions. */
function readFolder(folder: string): FolderTrust {
  if (!existsSync(join(folder, 'beaver.config.json')))
    throw new BeaverError('not_found', `There is no beaver.config.json in ${folder}.`)
  // The environment variables that override the file are left out, because consent is for the file, whatever
  // the environment.
  const env = { HOME: process.env['HOME'], XDG_STATE_HOME: process.env['XDG_STATE_HOME'] }
  return loadConfig({ trust: false }, env, folder).trust
}

function show(asked: FolderTrust, { json }: TrustOptions, screen: Screen): number {
  if (json === true) screen.json(jsonOf(asked))
  else if (asked.asked.length === 0) screen.print(nothingAsked(asked))
  else
    screen.print(
      ...trustLines(asked, Infinity),
      `digest  ${asked.digest ?? 'none: it is too large, so it can only be trusted with --always'}`,
    )
  return 0
}

function accept(
  store: string,
  folder: string,
  { asked, options, screen }: { asked: FolderTrust; options: TrustOptions; screen: Screen },
): number {
  const always = options.always === true
  if (asked.asked.length === 0 && !always) {
    if (options.json === true) screen.json({ ...jsonOf(asked), trusted: true })
    else screen.print(nothingAsked(asked))
    return 0
  }
  if (asked.digest === null && !always)
    throw new BeaverError(
      'wrong_state',
      `The modules of ${folder} are too large to be remembered by their content. To trust the folder whatever it contains: beaver trust --always`,
    )
  trustFolder(store, folder, { digest: asked.digest, always, now: new Date().toISOString() })
  if (options.json === true) screen.json({ ...jsonOf(asked), trusted: true })
  else
    screen.print(
      ...(asked.asked.length === 0 ? [] : trustLines({ ...asked, changed: false, trusted: true }, Infinity)),
      `You trust ${oneLine(folder)} ${always ? 'always, also after changes' : 'until this changes'}. To take it back: beaver trust --revoke`,
    )
  return 0
}

function list(store: string, { json }: TrustOptions, screen: Screen): number {
  const rows = trustedFolders(store).map((each) => ({ ...each, state: stateOf(each.folder, each.always) }))
  if (json === true)
    screen.json({
      folders: rows.map(({ folder, always, accepted_at, state }) => ({ folder, always, accepted_at, state })),
    })
  else if (rows.length === 0) screen.print('You trust no folder.')
  else
    screen.print(
      ...table<(typeof rows)[number]>(
        [
          { title: 'FOLDER', cell: (row) => oneLine(row.folder), flexible: true },
          { title: 'STATE', cell: (row) => row.state },
          { title: 'SINCE', cell: (row) => row.accepted_at.slice(0, 10), optional: 1 },
        ],
        rows,
        { width: screen.columns === Infinity ? 160 : screen.columns, title: screen.style.dim },
      ),
    )
  return 0
}

/** Whether the folder still asks for what was accepted. */
function stateOf(folder: string, always: boolean): string {
  if (!existsSync(join(folder, 'beaver.config.json'))) return 'gone'
  if (always) return 'always'
  try {
    return readFolder(folder).changed ? 'changed' : 'trusted'
  } catch {
    return 'broken'
  }
}

function revoke(store: string, folder: string, { json }: TrustOptions, screen: Screen): number {
  const known = trustedFolder(store, folder) !== null
  if (!known && json !== true)
    throw new BeaverError('not_found', `You do not trust ${folder}. "beaver trust --list" lists the folders.`)
  const revoked = revokeTrust(store, folder)
  if (json === true) screen.json({ folder, revoked })
  else
    screen.print(
      `You no longer trust ${oneLine(folder)}. A system that runs keeps its settings until it stops.`,
    )
  return 0
}

const nothingAsked = ({ folder }: FolderTrust): string =>
  `The beaver.config.json of ${oneLine(folder ?? '')} asks for nothing that needs your consent.`

const jsonOf = ({ folder, digest, changed, asked }: FolderTrust) => ({ folder, digest, changed, asks: asked })
