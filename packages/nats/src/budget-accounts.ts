// The BudgetAccounts port on a JetStream key-value bucket. Each account has one key, and is written only over
// the revision from which it was decided. The stream's leader answers each read, so none is stale. A value
// that cannot be read is reported and never overwritten. Nothing is tried again here: the caller does that.
import { BeaverError, messageOf } from '@beaver/core'
import {
  type Account,
  type AccountKey,
  type AccountsOf,
  accountText,
  type BudgetAccounts,
  newAccount,
  readAccount,
  sharedOf,
  type StoredAccount,
} from '@beaver/core/budget'
import {
  jetstream,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { type NatsConnection, RequestError } from '@nats-io/nats-core'
import { isRefusedWith, noMessage, noStream, wrongLastMessage, wrongLastMessageAgain } from './api-refusal.ts'
import { natsFault } from './nats-fault.ts'
import { placeOfBucket } from './stream-place.ts'
import { decodeToken, encodeToken, type Subjects } from './subjects.ts'

const answerMsMax = 5_000
/** After this time without a write, the server removes an account: its month has ended long ago. */
const keptMs = 400 * 24 * 60 * 60_000
/** A server counts the headers of a message, too. */
const headersBytesMax = 512

/**
 * Opens the bucket, and makes it if it does not exist.
 *
 * @throws {BeaverError} `start_failed`
 */
export async function natsBudgetAccounts(nc: NatsConnection, subjects: Subjects): Promise<BudgetAccounts> {
  const bucket = subjects.budgetBucket
  try {
    const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
    const make = async (): Promise<KV> =>
      new Kvm(jetstream(nc, { timeout: answerMsMax })).create(bucket, {
        description: 'Beaver: what tasks used of the budgets that they share',
        history: 1,
        storage: StorageType.File,
        ttl: keptMs,
        // Without direct reads each value comes from the stream's leader.
        allow_direct: false,
        ...(await placeOfBucket(jsm, subjects)),
      })
    return new KvBudgetAccounts({ nc, jsm, kv: await make(), make, bucket })
  } catch (cause) {
    throw new BeaverError(
      'start_failed',
      `The accounts of budgets ${bucket} cannot be opened: ${messageOf(cause)}`,
      { cause },
    )
  }
}

interface KvAccountParts {
  readonly nc: NatsConnection
  readonly jsm: JetStreamManager
  readonly kv: KV
  /** Makes the bucket if it does not exist. */
  readonly make: () => Promise<unknown>
  readonly bucket: string
}

class KvBudgetAccounts implements BudgetAccounts {
  readonly #parts: KvAccountParts

  constructor(parts: KvAccountParts) {
    this.#parts = parts
  }

  async read(key: AccountKey): Promise<StoredAccount> {
    const { kv, bucket } = this.#parts
    const name = encodeKey(key)
    const entry = await kv.get(name).catch(async (error: unknown) => {
      if (isRefusedWith(error, noMessage)) return null
      throw await this.#fault(error)
    })
    if (entry === null) return { account: newAccount(), revision: 0 }
    // Somebody deleted the key, and the mark of this has a revision.
    if (entry.operation !== 'PUT') return { account: newAccount(), revision: entry.revision }
    const account = readAccount(entry.string())
    if (account === null)
      throw new BeaverError(
        'budget_corrupt',
        `The account of ${accountName(key)} cannot be read: this version does not know its form. Beaver did not change it. Read it with "nats kv get ${bucket} ${name}". Correct it, or delete the key to begin the budget anew.`,
      )
    return { account, revision: entry.revision }
  }

  async write(key: AccountKey, account: Account, revision: number): Promise<number | null> {
    const { nc, kv } = this.#parts
    const bytes = Buffer.from(accountText(account))
    const bytesMax = (nc.info?.max_payload ?? Infinity) - headersBytesMax
    if (bytes.length > bytesMax)
      throw new BeaverError(
        'too_large',
        `The account of ${accountName(key)} would have ${bytes.length} bytes with its ${account.tasks.size} open tasks, and the nats-server takes at most ${bytesMax}. Wait until some of these tasks have ended, or set a larger max_payload at the nats-server.`,
      )
    try {
      return await kv.put(encodeKey(key), bytes, { previousSeq: revision, timeout: answerMsMax })
    } catch (error) {
      if (isRefusedWith(error, wrongLastMessage, wrongLastMessageAgain)) return null
      throw await this.#fault(error)
    }
  }

  /** If somebody deleted the bucket, it is made again, and the caller's next try finds it. */
  async #fault(error: unknown): Promise<unknown> {
    if (isRefusedWith(error, noStream)) await this.#parts.make().catch(() => {})
    return fault(error)
  }

  /** An account that somebody deleted may still be listed; it is empty. */
  async list(tenant: string, only?: AccountsOf): Promise<readonly AccountKey[]> {
    const { jsm, bucket } = this.#parts
    const prefix = `$KV.${bucket}.`
    const wanted = only === undefined ? `${encodeToken(tenant)}.>` : keysOf(tenant, only)
    try {
      // The client asks for one page after the other, if there are many.
      const { state } = await jsm.streams.info(`KV_${bucket}`, {
        subjects_filter: prefix + wanted,
      })
      return Object.keys(state.subjects ?? {})
        .map((subject) => decodeKey(subject.slice(prefix.length)))
        .filter((key) => key !== null)
    } catch (error) {
      throw fault(error)
    }
  }
}

/** A token cannot be empty, so the key of an account without a name ends before it. */
const encodeKey = ({ tenant, of, name, period }: AccountKey): string =>
  [tenant, of, period, ...(name === '' ? [] : [name])].map(encodeToken).join('.')

/** Only the tenant has no name. */
const keysOf = (
  tenant: string,
  { of, period, name = of === 'tenant' ? '' : undefined }: AccountsOf,
): string =>
  name === undefined
    ? `${encodeKey({ tenant, of, period, name: '' })}.>`
    : encodeKey({ tenant, of, period, name })

/** `null`: somebody else made the key. */
function decodeKey(text: string): AccountKey | null {
  const [tenant = '', kind, period = '', name = ''] = text.split('.').map(decodeToken)
  const of = sharedOf.safeParse(kind)
  if (!of.success) return null
  const key = { tenant, of: of.data, name, period }
  return encodeKey(key) === text ? key : null
}

/** For people: `the user "ada", period 2026-11`. */
const accountName = ({ tenant, of, name, period }: AccountKey): string =>
  `the ${of} ${JSON.stringify(of === 'tenant' ? tenant : name)}, period ${period},`

/** What may succeed later is `unreachable`. A write without an answer is, too: it may be stored or not. */
function fault(error: unknown): unknown {
  const known = natsFault(error)
  const isLost = known instanceof BeaverError && (known.code === 'timeout' || known.code === 'unreachable')
  if (!isLost && !isRefusal(known)) return known
  return new BeaverError(
    'unreachable',
    `The accounts of budgets cannot be reached now: ${messageOf(error)}.`,
    { cause: error },
  )
}

/**
 * Whether JetStream refused, or nobody answered for it. While servers start or elect a leader, they may even
 * say that the stream does not exist.
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof JetStreamApiError || (error instanceof Error && error.cause instanceof RequestError)
