import { Link } from 'wouter';
import { buttonClass } from './button';
import { BackIcon } from './icons';
import styles from './page-head.module.css';

interface Props {
  title: string;
  lead: string;
  /** Where the page was opened from. */
  back: { href: string; label: string };
}

/** The head of a page that was opened from another one. */
export function PageHead({ title, lead, back }: Props) {
  return (
    <header className={styles.head}>
      <Link href={back.href} className={buttonClass('quiet')}>
        <BackIcon />
        {back.label}
      </Link>
      <h1 className={styles.title}>{title}</h1>
      <p className={styles.lead}>{lead}</p>
    </header>
  );
}
