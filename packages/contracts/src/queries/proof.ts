// `proof`: what proves that messages are in the journal. Everything in an answer can be verified without the
// projector.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count } from '../fields.ts'

const hash = z.string().describe('A SHA-256 in base64.')
const note = z.string().describe('A signed note (C2SP signed-note).')
/** Scattered messages need the hashes of a tile each: 100 of them take 100 ms. */
const pageMax = 100
const size = z.int().nonnegative().max(Number.MAX_SAFE_INTEGER)

export const proof = contract(
  'Proves that messages are in the journal, that an older checkpoint is a beginning of it, and how far the logs of tasks go.',
  {
    input: z.strictObject({
      size: size
        .optional()
        .describe('Prove for the tree over the first so many messages. Absent: for the present tree.'),
      sequences: z
        .array(z.int().positive())
        .max(pageMax)
        .default([])
        .describe('The sequence numbers of messages. Prove that each of them is in the tree.'),
      older: z
        .array(size)
        .max(64)
        .default([])
        .describe('The sizes of older checkpoints. Prove that each of them is the beginning of the tree.'),
      task_ids: z
        .array(z.string().min(1).max(128))
        .max(100)
        .default([])
        .describe(
          'The ids of tasks. Say, signed, with which record the log of each of them ends. Only for the present tree.',
        ),
    }),
    output: z.object({
      origin: z.string().describe('The name of the journal in checkpoints.'),
      size: count.describe('The number of messages in the tree.'),
      root: hash.describe('The root of the tree. A SHA-256 in base64.'),
      key: z
        .string()
        .nullable()
        .describe('The public key of the projector, as name+id+base64. null: this projector has no key.'),
      checkpoint: note
        .nullable()
        .describe('The signed checkpoint of this tree. null: this projector has no key.'),
      heads: note
        .nullable()
        .describe(
          'A signed note with one line of JSON for the end of each log. null: no tasks were asked for.',
        ),
      inclusion: z
        .array(
          z.object({
            sequence: count.describe('The sequence number of the message.'),
            index: count
              .nullable()
              .describe('The number of its leaf, from 0. null: the tree does not have the message.'),
            hashes: z.array(hash).describe('The proof of inclusion (RFC 6962), from the leaf to the root.'),
          }),
        )
        .describe('One proof for each message that was asked for.'),
      consistency: z
        .array(
          z.object({
            size: count.describe('The size of the older tree.'),
            root: hash.nullable().describe('Its root. null: this tree is not that large.'),
            hashes: z.array(hash).describe('The proof of consistency (RFC 6962).'),
          }),
        )
        .describe('One proof for each older size that was asked for.'),
    }),
  },
)
