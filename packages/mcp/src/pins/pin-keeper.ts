// PinKeeper: compares the lists of servers with the pins, for one daemon. Checks of several servers run one
// after the other.
import type { Clock } from '@beaver/core'
import type { ListedTool } from '../client/list-tools.ts'
import { checkPins, isNew } from './pin.ts'
import { changePins } from './pin-file.ts'

/**
 * `withheld`: no tool may be offered, because the pins cannot be read or stored. `ok`: only `changed` tools
 * are withheld; `appeared`: those of them that are new.
 */
export type Pinned =
  | {
      readonly kind: 'ok'
      readonly pinned: number
      readonly changed: ReadonlySet<string>
      readonly appeared: ReadonlySet<string>
    }
  | { readonly kind: 'withheld'; readonly message: string }

export interface PinKeeper {
  /** Pins what is seen first. It never rejects. @param named the tools that the configuration names */
  check(server: string, tools: readonly ListedTool[], named?: readonly string[]): Promise<Pinned>
  /** Resolves when the check under way is over. Nothing is written after that. It never rejects. */
  close(): Promise<void>
}

const ended: Pinned = { kind: 'withheld', message: 'The connections to MCP servers are closed.' }

export function pinKeeper(file: string, clock: Clock): PinKeeper {
  let before: Promise<void> = Promise.resolve()
  let closed = false
  async function check(
    server: string,
    tools: readonly ListedTool[],
    named: readonly string[] | undefined,
  ): Promise<Pinned> {
    let changed: ReadonlySet<string> = new Set()
    let appeared: ReadonlySet<string> = new Set()
    const read = await changePins(
      file,
      (pins) => {
        const checked = checkPins(pins, server, tools, { now: new Date(clock.now()).toISOString(), named })
        changed = checked.changed
        appeared = checked.appeared
        return checked.pins
      },
      clock,
    )
    if (read.kind === 'unusable') return { kind: 'withheld', message: read.message }
    return {
      kind: 'ok',
      pinned: read.pins.filter((each) => each.server === server && !isNew(each)).length,
      changed,
      appeared,
    }
  }
  return {
    check(server, tools, named) {
      const checking = before.then(() => (closed ? ended : check(server, tools, named)))
      before = checking.then(
        () => {},
        () => {},
      )
      return checking
    },
    close() {
      closed = true
      return before
    },
  }
}
