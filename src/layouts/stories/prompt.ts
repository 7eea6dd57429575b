import storyTemplate from '../../../templates/stories/story.md?raw'
import { commonValues, type PromptFacts, renderTemplate, type Values } from '../../core/prompt.ts'

/**
 * What the agent receives (S4-53). No tag stands alone on a line or can be read as a signal, so that an agent which only
 * repeats its prompt claims nothing. Apart from the spec the size is bounded, however long the history is (G-09).
 */
export const storyTemplates: Record<string, string> = { story: storyTemplate }

/** The seed's rules but one: "integer cents for money" is a rule of its own project (S4-55). */
export const defaultRules: readonly string[] = [
  'Complete this one story fully before you claim that it is done. Do not begin another one.',
  'Follow the acceptance criteria exactly.',
  'Write all the tests that the story specifies.',
  'You must use your tools to read, write and run things. Text alone changes nothing.',
]

export function storyValues({ rules }: Pick<PromptFacts, 'rules'>): Values {
  return rules.length > 0 ? {} : { rules: defaultRules.map(rule => `- ${rule}`).join('\n') }
}

export function storyPrompt(facts: PromptFacts): string {
  return renderTemplate(storyTemplate, { ...commonValues(facts), ...storyValues(facts) })
}
