// Adds a workflow to the list of tools in the file of an agent profile. Only the list changes: the rest of the
// file stays as somebody wrote it. A reader of the file sees the old text or the new one. Nothing of a request
// becomes a path: the file is the one from which the profile was loaded.
import { access, constants, lstat, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { catalogEntries, type ExternalTool, externalTool, readProfile } from '@beaver/agent'
import type { RequestOutput, RequestRead } from '@beaver/contracts'
import { BeaverError, type Logger, messageOf, systemFacts } from '@beaver/core'
import type { Agents } from './agents.ts'

interface AddWorkflowPorts {
  readonly daemonId: string
  readonly agents: Pick<Agents, 'toolset' | 'refresh'>
  /** The tools of this process, which include those of MCP servers. */
  readonly external: readonly ExternalTool[]
  readonly logger: Logger
}

type Added = RequestOutput<'profile.add_workflow'>

/** Two requests for one file must not lose each other's change. */
let lastWrite: Promise<unknown> = Promise.resolve()

/**
 * @param by who asks
 * @throws {BeaverError} `unknown_profile`, `unknown_workflow`; `conflict` if the file cannot be changed
 */
export function addWorkflow(
  ports: AddWorkflowPorts,
  asked: RequestRead<'profile.add_workflow'>,
  by: string,
): Promise<Added> {
  const written = lastWrite.then(() => add(ports, asked, by))
  lastWrite = written.catch(() => {})
  return written
}

async function add(
  ports: AddWorkflowPorts,
  { profile: name, workflow }: RequestRead<'profile.add_workflow'>,
  by: string,
): Promise<Added> {
  const { agents, daemonId, logger } = ports
  await agents.refresh({ now: true })
  const { toolset } = agents
  const profile = toolset.profiles.get(name)
  const file = toolset.fileOf.profile.get(name)
  if (profile === undefined || file === undefined)
    throw new BeaverError('unknown_profile', `The daemon has loaded no profile ${JSON.stringify(name)}.`)
  const catalog = catalogEntries(toolset)
  const entry = catalog.find(
    ({ id, kind, schema }) => kind !== 'tool' && (schema.name === workflow || id === workflow),
  )
  if (entry === undefined)
    throw new BeaverError(
      'unknown_workflow',
      `There is no workflow ${JSON.stringify(workflow)} that an agent can call.`,
    )
  const answer = { daemon: daemonId, profile: name, workflow: entry.schema.name, file }
  const text = await textOf(file)
  const json = jsonOf(file, text)
  const read = readProfile(json).profile
  if (read?.name !== name)
    throw refused(file, 'It does not have this profile any more. Correct the file, and ask again.')
  const listed = (json as { readonly tool_ids_inventory?: readonly string[] }).tool_ids_inventory
  const has = listed?.includes(entry.id) ?? entry.kind === 'team_workflow'
  if (has)
    return {
      ...answer,
      changed: false,
      tool_ids: listed === undefined ? null : [...listed],
      made_list: false,
    }
  const ids = [...(listed ?? defaultIds(ports)), entry.id]
  const changed = withList(text, json as object, ids)
  if (readProfile(JSON.parse(withoutMark(changed))).profile === null)
    throw refused(file, 'With one more tool it would not be valid: a profile lists at most 1,000 ids.')
  await replace(file, text, changed)
  systemFacts.profileChanged(logger, { profile: name, workflow: answer.workflow, file, by })
  await agents.refresh({ now: true })
  return { ...answer, changed: true, tool_ids: ids, made_list: listed === undefined }
}

/** The ids of what an agent without a profile has. */
function defaultIds({ agents: { toolset }, external }: AddWorkflowPorts): string[] {
  const known = new Set(toolset.tools.map((tool) => tool.name))
  const foreign = external.filter((tool) => !known.has(tool.name)).map(externalTool)
  return catalogEntries({ ...toolset, tools: [...toolset.tools, ...foreign] })
    .filter(({ kind }) => kind !== 'workflow')
    .map(({ id }) => id)
}

const refused = (file: string, why: string): BeaverError =>
  new BeaverError('conflict', `The file ${file} of the profile cannot be changed. ${why}`)

/** @throws {BeaverError} `conflict` if it is not a file that somebody keeps for Beaver and that may be written */
async function textOf(file: string): Promise<string> {
  try {
    // A link may lead to a file that others use, and writing would replace the link.
    if (!(await lstat(file)).isFile()) throw refused(file, 'It is not a regular file.')
    if ((await realpath(file)).split(sep).includes('node_modules'))
      throw refused(file, 'It belongs to a package. Copy it, and name the copy in the configuration.')
    await access(file, constants.W_OK)
    await access(dirname(file), constants.W_OK)
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof BeaverError) throw error
    throw refused(file, `${messageOf(error)}.`)
  }
}

const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '')

function jsonOf(file: string, text: string): unknown {
  try {
    return JSON.parse(withoutMark(text))
  } catch (error) {
    throw refused(file, `It is not JSON: ${messageOf(error)}.`)
  }
}

/**
 * The text of a profile with this list of tools. An id at the end of a list is written as the one before it; a
 * new list comes last. A text in which that does not succeed is written anew, with its indentation.
 */
export function withList(text: string, json: object, ids: readonly string[]): string {
  const wanted = { ...json, tool_ids_inventory: ids }
  const edited = editedList(text, json, ids)
  try {
    if (edited !== null && isDeepStrictEqual(JSON.parse(withoutMark(edited)), wanted)) return edited
  } catch {
    // The text has something unusual, such as a key that is there twice.
  }
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0]
  return `${JSON.stringify(wanted, null, indent)}${/\s*$/.exec(text)?.[0] ?? ''}`
}

function editedList(text: string, json: object, ids: readonly string[]): string | null {
  const [added] = ids.slice(-1)
  const before = 'tool_ids_inventory' in json ? ids.slice(0, -1) : null
  if (before === null) {
    const end = /(,?)(\s*)\}\s*$/.exec(text)
    const [, indent = ''] = /^\s*\{(\s*)"/.exec(withoutMark(text)) ?? []
    if (end === null) return null
    const pad = /\n(.*)$/.exec(indent)?.[1]
    const lineEnd = indent.includes('\r\n') ? '\r\n' : '\n'
    const lines = JSON.stringify(ids, null, pad).replaceAll('\n', `${lineEnd}${pad}`)
    const list = pad === undefined ? JSON.stringify(ids) : lines
    return `${text.slice(0, end.index)},${indent}"tool_ids_inventory": ${list}${text.slice(end.index)}`
  }
  const list = /"tool_ids_inventory"\s*:\s*\[(?<items>(?:[^"\]]|"(?:[^"\\]|\\.)*")*?)(?<end>\s*)\]/d.exec(
    text,
  )
  const [from, to] = list?.indices?.groups?.['items'] ?? []
  if (list === null || from === undefined || to === undefined) return null
  const items = text.slice(from, to)
  const gap = before.length === 0 ? '' : (/^\s*/.exec(items)?.[0] ?? '')
  const space = gap === '' && before.length > 0 ? ' ' : gap
  return `${text.slice(0, to)}${before.length === 0 ? '' : `,${space}`}${JSON.stringify(added)}${text.slice(to)}`
}

/** Replaces the text of a file, whose mode stays. @throws {BeaverError} `conflict` */
async function replace(file: string, before: string, text: string): Promise<void> {
  const beside = `${file}.${process.pid}.new`
  try {
    const { mode } = await lstat(file)
    const opened = await open(beside, 'wx', mode & 0o777)
    try {
      // The mask of the process would take bits away.
      await opened.chmod(mode & 0o777)
      await opened.writeFile(text)
      await opened.datasync()
    } finally {
      await opened.close()
    }
    if ((await readFile(file, 'utf8')) !== before)
      throw refused(file, 'Somebody else changed it at the same time. Ask again.')
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true })
    throw error instanceof BeaverError ? error : refused(file, `${messageOf(error)}.`)
  }
}
