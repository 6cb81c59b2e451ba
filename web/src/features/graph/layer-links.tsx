import { Link } from 'wouter';
import { useTexts } from '../../i18n/text';
import styles from './layer-links.module.css';
import { Section } from './pane';
import texts from './texts';

/** A link to what a node of a layer is part of. */
export function Above({ href, title }: { href: string; title: string }) {
  const t = useTexts(texts);
  return (
    <Link href={href} className={styles.above} dir="auto">
      {t('partOf', { title })}
    </Link>
  );
}

interface PartsProps {
  title: string;
  parts: { id: string; title: string }[];
  hrefOf: (id: string) => string;
}

/** The nodes that a node of a layer joins; nothing if there are none. */
export function Parts({ title, parts, hrefOf }: PartsProps) {
  if (parts.length === 0) return null;
  return (
    <Section title={title}>
      <ul className={styles.parts}>
        {parts.map(part => (
          <li key={part.id}>
            <Link href={hrefOf(part.id)} className={styles.part} dir="auto">
              {part.title}
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
