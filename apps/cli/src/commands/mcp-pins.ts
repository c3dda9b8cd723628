// `beaver mcp pins` and `beaver mcp approve`: show what MCP tools said about themselves when they were first
// seen and what they say now, and approve the new version. Both use the file of the pins. A daemon that
// withholds a tool reads this file again within seconds.
import { BeaverError } from '@beaver/core'
import { approvePins, changePins, isNew, mcpPinsFile, type Pin, type PinsRead, readPins } from '@beaver/mcp'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

export async function listPins(
  server: string | undefined,
  options: { readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  const pins = readable(await readPins(mcpPinsFile(config.home))).filter(
    (pin) => server === undefined || pin.server === server,
  )
  if (options.json === true) screen.json({ pins })
  else screen.print(...(pins.length === 0 ? ['No MCP tool is pinned here.'] : pinLines(pins, screen)))
  return 0
}

export async function approve(
  server: string,
  tool: string | undefined,
  options: { readonly json?: true },
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  const file = mcpPinsFile(config.home)
  let approved: readonly string[] = []
  const before = readable(await readPins(file)).filter(
    (pin) => pin.server === server && (tool === undefined || pin.tool === tool),
  )
  if (before.length === 0)
    throw new BeaverError(
      'not_found',
      `No tool ${tool === undefined ? '' : `${JSON.stringify(tool)} `}of an MCP server ${JSON.stringify(server)} is pinned here. "beaver mcp pins" lists them.`,
    )
  const now = new Date().toISOString()
  readable(
    await changePins(file, (pins) => {
      const next = approvePins(pins, server, tool ?? null, now)
      approved = next.approved
      return approved.length === 0 ? null : next.pins
    }),
  )
  if (options.json === true) screen.json({ server, approved })
  else
    screen.print(
      approved.length === 0
        ? 'No tool of this server waits for an approval.'
        : `Approved: ${approved.map((each) => oneLine(each)).join(', ')}`,
    )
  return 0
}

/** @throws {BeaverError} `invalid_configuration` if the file of the pins cannot be used */
function readable(read: PinsRead): readonly Pin[] {
  if (read.kind === 'ok') return read.pins
  throw new BeaverError('invalid_configuration', read.message)
}

function pinLines(pins: readonly Pin[], { columns, style }: Pick<Screen, 'columns' | 'style'>): string[] {
  const changed = pins.filter((pin) => pin.changed !== undefined)
  return [
    ...table<Pin>(
      [
        { title: 'SERVER', cell: (pin) => oneLine(pin.server) },
        { title: 'TOOL', cell: (pin) => oneLine(pin.tool), paint: style.cyan },
        {
          title: 'STATE',
          cell: stateOf,
        },
        {
          title: 'HASH',
          cell: (pin) => (pin.hash === '' ? '-' : pin.hash.slice(0, 12)),
          paint: style.dim,
          optional: 1,
        },
        {
          title: 'SINCE',
          cell: (pin) => (isNew(pin) ? (pin.changed?.seen_at ?? '') : pin.pinned_at).slice(0, 10),
          optional: 2,
        },
        {
          title: 'SAYS',
          cell: (pin) =>
            oneLine(descriptionOf(isNew(pin) ? (pin.changed?.definition ?? '') : pin.definition), 400),
          flexible: true,
        },
      ],
      pins,
      { width: columns === Infinity ? 160 : columns, title: style.dim },
    ),
    ...changed.flatMap((pin) => ['', ...changeLines(pin)]),
  ]
}

function stateOf(pin: Pin): 'approved' | 'pinned' | 'new' | 'changed' {
  if (pin.changed !== undefined) return isNew(pin) ? 'new' : 'changed'
  return pin.approved_at === undefined ? 'pinned' : 'approved'
}

const shownCharsMax = 2_000

/** Shows whole definitions, because a person should approve the definition and not a summary of it. */
function changeLines(pin: Pin): string[] {
  const { server, tool, definition, changed } = pin
  return [
    `${oneLine(server)} ${oneLine(tool)} ${isNew(pin) ? 'appeared after the server was first seen' : 'has changed'} and is withheld.`,
    ...(isNew(pin) ? [] : [`  was  ${oneLine(definition, shownCharsMax)}`]),
    `  now  ${oneLine(changed?.definition ?? '', shownCharsMax)}`,
    `  Approve: beaver mcp approve ${oneLine(server)} ${JSON.stringify(oneLine(tool))}`,
  ]
}

/** The description in a definition; if the definition was cut and cannot be read, the definition itself. */
function descriptionOf(definition: string): string {
  try {
    const { description } = JSON.parse(definition) as { description?: unknown }
    return typeof description === 'string' ? description : ''
  } catch {
    return definition
  }
}
