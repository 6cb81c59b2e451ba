import { useQuery } from '@tanstack/react-query';
import { get, getBytes } from '../../api/client';

/** The details of a document. */
export function useDocument(id: string) {
  return useQuery({
    queryKey: ['document', id],
    queryFn: ({ signal }) => get('/documents/{document_id}', { path: { document_id: id }, signal }),
  });
}

/** The file that a document was read from. */
export function useOriginal(id: string) {
  return useQuery({
    queryKey: ['document', id, 'original'],
    queryFn: ({ signal }) =>
      getBytes('/documents/{document_id}/original', { path: { document_id: id }, signal }),
    staleTime: Infinity,
    // Files are large: what is not shown is not kept for long.
    gcTime: 60_000,
  });
}

/** The bytes of a document's text, which citations count in. */
export function useDocumentText(id: string) {
  return useQuery({
    queryKey: ['document', id, 'text'],
    queryFn: ({ signal }) => getBytes('/documents/{document_id}/text', { path: { document_id: id }, signal }),
    staleTime: 60_000,
  });
}
