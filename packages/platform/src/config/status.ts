// `status` of the configuration: whether processes answer how they are and show their metrics, and where.
import { z } from 'zod'

/** The port of a daemon. A projector has the next one, and a gateway the one after that. */
const statusPort = 20_101

const places = { daemon: 0, projector: 1, gateway: 2 } as const
/** The processes that listen. */
export type StatusProcess = keyof typeof places
/** Whether a text from outside names one. */
export const isStatusProcess = (name: unknown): name is StatusProcess =>
  typeof name === 'string' && Object.hasOwn(places, name)

/** Where a process listens. */
export interface StatusAddress {
  readonly host: string
  readonly port: number
  /** Whether the configuration names the port. Otherwise a free one takes the place of one that is taken. */
  readonly named: boolean
}

const form = /^(?:\[([0-9a-fA-F:]+)\]|([A-Za-z0-9.-]+))(?::(\d{1,5}))?$/
const portMax = 65_535 - places.gateway

/** `null`: the text names no address. */
function read(text: string): (Omit<StatusAddress, 'named'> & { readonly named: boolean }) | null {
  if (text === 'on') return { host: '127.0.0.1', port: statusPort, named: false }
  const [matched, ipv6, host = ipv6, port] = form.exec(text) ?? []
  if (matched === undefined || host === undefined) return null
  if (port === undefined) return { host, port: statusPort, named: false }
  const number = Number(port)
  return number >= 1 && number <= portMax ? { host, port: number, named: true } : null
}

export const status = z
  .strictObject({
    /**
     * `on`: on loopback. Otherwise an address, with or without a port. A projector listens on the port after
     * the one of a daemon, and a gateway on the one after that.
     */
    listen: z
      .string()
      .refine(
        (text) => text === 'off' || read(text) !== null,
        'must be "off", "on", or an address such as 0.0.0.0 or 0.0.0.0:9100',
      )
      .default('off'),
  })
  .prefault({})

/** Where a process listens; `null`: nowhere. */
export function statusAddress(listen: string, process: StatusProcess): StatusAddress | null {
  const at = listen === 'off' ? null : read(listen)
  return at === null ? null : { ...at, port: at.port + places[process] }
}

/** Whether a setting lets other machines ask. */
export function isForOthers(listen: string): boolean {
  const at = listen === 'off' ? null : read(listen)
  return at !== null && !isLoopback(at.host)
}

/** Whether only this machine reaches the address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
