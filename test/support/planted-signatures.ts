// Faults of signatures and keys, planted in a recorded journal whose messages are signed anew.
import { createHash, sign as signBytes } from 'node:crypto'
import { canonicalJson, type KeyStore, type LogId } from '@beaver/core'
import { checkpointText, type SigningKey, signNote } from '@beaver/core/journal'
import { newSigningKey } from '@beaver/testing'
import type { PlantedFault } from './planted-faults.ts'
import { at, type LooseExport, type LooseMessage, type LooseRecord, sign } from './recorded-journal.ts'

/** The message with the end of the task `one`. */
function end(journal: LooseExport): LooseMessage {
  return at(journal, 'one', 'task_completed').message
}

function addKeyEvent(
  journal: LooseExport,
  key: SigningKey,
  type: string,
  data: Record<string, unknown>,
): void {
  addSystemEvent(journal, 'keys', key, type, data)
}

/** A new key of a projector, from here on. */
function trustedProjector(journal: LooseExport, keys: KeyStore, epoch = 3): SigningKey {
  const key = newSigningKey()
  const data = {
    key_id: key.id,
    public_key: key.publicKey,
    role: 'projector',
    name: 'here',
    key_epoch: epoch,
  }
  addKeyEvent(journal, keys.makeOperator(), 'key_trusted', data)
  return key
}

function noteBy({ header }: LooseExport, { publicKey, privateKey }: SigningKey): string {
  const origin = `${String(header['stream'])}@${String(header['created'])}`
  const text = checkpointText({ origin, size: 1, root: Buffer.alloc(32) })
  return signNote(text, { name: origin, publicKey: Buffer.from(publicKey, 'base64url') }, (bytes) =>
    signBytes(null, bytes, privateKey),
  )
}

/** Appends a well-chained event to a system log, signed by this key. */
export function addSystemEvent(
  journal: LooseExport,
  name: string,
  key: SigningKey,
  type: string,
  data: Record<string, unknown>,
): void {
  const keysLog = journal.messages.find(({ subject }) => subject.endsWith('.keys')) as LooseMessage
  const subject = keysLog.subject.replace(/keys$/, name)
  const before = journal.messages
    .filter((each) => each.subject === subject)
    .at(-1)
    ?.records?.at(-1)
  const taskseq = (before?.taskseq ?? 0) + 1
  const record = {
    ...structuredClone(keysLog.records?.[0] as LooseRecord),
    ...{
      type: `beaver.system.${type}.v1`,
      subject: name,
      id: `${name}/0.${taskseq}`,
      taskseq,
      prevhash: before?.hash ?? '0'.repeat(64),
      data,
    },
  }
  const { hash: _, ...hashed } = record
  record.hash = createHash('sha256').update(canonicalJson(hashed)).digest('hex')
  const added = { ...keysLog, seq: journal.messages.length + 1, subject, records: [record], payload: '' }
  sign(journal, added, { key })
  journal.messages.push(added)
  journal.header['last_sequence'] = journal.messages.length
}

export const signatureFaults: readonly PlantedFault[] = [
  { name: 'an entry is not signed', rule: 'signature', forge: (j) => delete end(j).signature },
  {
    name: 'the signature of an entry is none',
    rule: 'signature',
    forge: (j) => (end(j).signature = 'v1 nonsense'),
  },
  {
    name: 'a forged entry with a well-formed chain has the signature of the true one',
    rule: 'signature',
    plant: (j) => (at(j, 'one', 'task_completed').record.data.final_output = 'forged'),
    keeps: ({ subject, records }) =>
      records?.some(({ data }) => data?.final_output === 'forged') === true && subject.includes('.one.'),
  },
  {
    name: 'an entry is signed by a key that nobody trusts',
    rule: 'signature',
    forge: (j) => sign(j, end(j), { key: newSigningKey() }),
  },
  {
    name: 'an entry is signed by a key that only asks for trust',
    rule: 'signature',
    forge: (j) => {
      const key = newSigningKey()
      addKeyEvent(j, key, 'key_announced', {
        key_id: key.id,
        public_key: key.publicKey,
        role: 'daemon',
        name: 'stranger',
      })
      sign(j, end(j), { key })
    },
  },
  {
    name: 'an entry is signed by a key before it is trusted',
    rule: 'signature',
    forge: (j, keys) => {
      const key = newSigningKey()
      sign(j, end(j), { key })
      addKeyEvent(j, keys.makeOperator(), 'key_trusted', {
        key_id: key.id,
        public_key: key.publicKey,
        role: 'daemon',
        name: 'late',
        key_epoch: 3,
      })
    },
  },
  {
    name: 'an entry is signed by a key that was revoked',
    rule: 'signature',
    forge: (j, keys) => {
      const key = keys.own('daemon')
      addKeyEvent(j, keys.makeOperator(), 'key_revoked', { key_id: key.id, reason: 'stolen' })
      const last = at(j, 'three', 'task_completed').message
      j.messages.push(...j.messages.splice(j.messages.indexOf(last), 1))
      for (const [i, message] of j.messages.entries()) message.seq = i + 1
    },
  },
  {
    name: 'an entry of a task is signed by the key of the operator',
    rule: 'signature',
    forge: (j, keys) => sign(j, end(j), { key: keys.makeOperator() }),
  },
  {
    name: 'a signature is one for another log',
    rule: 'signature',
    forge: (j, keys) =>
      sign(j, end(j), {
        key: keys.own('daemon'),
        log: { tenant: 'local', session: 'talk', task: 'two' } as LogId,
      }),
  },
  {
    name: 'a signature is one for another journal',
    rule: 'signature',
    forge: (j, keys) =>
      sign(j, end(j), {
        key: keys.own('daemon'),
        journal: `${String(j.header['stream'])}/${'0'.repeat(64)}`,
      }),
  },
  { name: 'a signature is that of the message before', rule: 'signature', forge: (j) => (end(j).signature = at(j, 'two', 'task_completed').message.signature ?? '') }, // prettier-ignore
  {
    name: 'a redaction is not signed by the operator',
    rule: 'signature',
    forge: (j, keys) =>
      addSystemEvent(j, 'redactions', keys.own('daemon'), 'blob_redacted', {
        sha256: 'a'.repeat(64),
        reason: 'none',
      }),
  },
  {
    name: 'a projector writes a checkpoint that a stranger signed',
    rule: 'checkpoint_signature',
    forge: (j, keys) =>
      addSystemEvent(j, 'checkpoints', trustedProjector(j, keys), 'checkpoint_made', {
        note: noteBy(j, newSigningKey()),
      }),
  },
  {
    name: 'a projector writes a checkpoint of a key that was revoked',
    rule: 'checkpoint_signature',
    forge: (j, keys) => {
      const stolen = trustedProjector(j, keys, 3)
      addKeyEvent(j, keys.makeOperator(), 'key_revoked', { key_id: stolen.id, reason: 'stolen' })
      addSystemEvent(j, 'checkpoints', trustedProjector(j, keys, 4), 'checkpoint_made', {
        note: noteBy(j, stolen),
      })
    },
  },
  {
    name: 'a stranger trusts a key',
    rule: 'key_event',
    forge: (j) => {
      const key = newSigningKey()
      addKeyEvent(j, key, 'key_trusted', {
        key_id: key.id,
        public_key: key.publicKey,
        role: 'daemon',
        name: 'stranger',
        key_epoch: 3,
      })
    },
  },
  {
    name: 'a daemon revokes a key',
    rule: 'key_event',
    forge: (j, keys) =>
      addKeyEvent(j, keys.own('daemon'), 'key_revoked', { key_id: keys.makeOperator().id, reason: 'mutiny' }),
  },
  {
    name: 'somebody announces the key of another one',
    rule: 'key_event',
    forge: (j, keys) =>
      addKeyEvent(j, keys.own('daemon'), 'key_announced', {
        key_id: 'f'.repeat(32),
        public_key: newSigningKey().publicKey,
        role: 'daemon',
        name: 'x',
      }),
  },
]
